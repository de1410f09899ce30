package io.sluice.bench.tables;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** How the files of a benchmark's tables are laid out, and what Spark knows of them. Loads no Spark class. */
public enum TableForm {

  /** A view of files, one per part; nothing is known but their schema. */
  PLAIN("", Map.of()),

  /** Large tables in a folder per day, so that Spark prunes days when it knows those that a join needs. */
  PARTITIONED("-partitioned", Map.of()),

  /** Large tables and items in buckets by item, sorted, in Spark's catalog, so that Spark leaves shuffles out. */
  BUCKETED("-bucketed", Map.of()),

  /** The plain files in Spark's catalog, with statistics and histograms of all columns, and plans that use them. */
  CBO("", Map.of("spark.sql.cbo.enabled", "true", "spark.sql.cbo.joinReorder.enabled", "true",
      "spark.sql.statistics.histogram.enabled", "true"));

  private final String folderEnd;
  private final Map<String, String> settings;

  TableForm(String folderEnd, Map<String, String> settings) {
    this.folderEnd = folderEnd;
    this.settings = settings;
  }

  /** The name on the command line. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** What the name of the folder of such tables ends with. */
  String folderEnd() {
    return folderEnd;
  }

  /** Spark settings of applications that read them; those of the user win. */
  public Map<String, String> settings() {
    return settings;
  }

  /**
   * The form called {@code label}.
   *
   * @throws IllegalArgumentException naming the known ones if there is none
   */
  public static TableForm named(String label) {
    return Arrays.stream(values()).filter(form -> form.label().equals(label)).findFirst().orElseThrow(
        () -> new IllegalArgumentException("unknown form of tables '" + label + "'; known are "
            + Arrays.stream(values()).map(TableForm::label).collect(Collectors.joining(", "))));
  }
}
