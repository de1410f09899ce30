package io.sluice.spark.migration;

import io.sluice.spark.migration.SettingsFile.Part;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a translated file does not do by itself: jars, and settings that it left but that have another meaning now. */
final class Advice {
  private static final Pattern JARS =
      Pattern.compile("[^:,/\\s]*(rapids-4-spark|spark-rdma|spark-ucx|ucx-spark)[^:,/\\s]*\\.jar");
  private static final List<String> JAR_SETTINGS =
      List.of("spark.driver.extraClassPath", "spark.executor.extraClassPath", "spark.jars");
  private static final String RAPIDS_SQL = "com.nvidia.spark.SQLPlugin";

  private Advice() {}

  static void add(Report report, Map<String, Part> settings, Optional<Project> predecessor) {
    byteOrderMark(report, settings);
    if (predecessor.isPresent()) {
      jars(report, settings);
      rapidsSql(report, settings);
      compression(report, settings);
    } else if (report.changed()) {
      manager(report, settings.get(Translation.MANAGER_KEY));
    }
  }

  private static void manager(Report report, Part manager) {
    String todo = "Set spark.shuffle.manager to " + Translation.MANAGER + " and add " + Translation.PLUGIN
        + " to spark.plugins where they are set; after SparkRDMA or SparkUCX set spark.sluice.mode to RDMA too";
    if (manager == null) {
      report.note("spark.shuffle.manager is not in this file. " + todo);
    } else if (!manager.value().equals(Translation.MANAGER)) {
      report.note(manager.line(), "spark.shuffle.manager is no predecessor's, and stays. " + todo);
    }
  }

  private static void jars(Report report, Map<String, Part> settings) {
    boolean found = false;
    for (String key : JAR_SETTINGS) {
      Part part = settings.get(key);
      Matcher jar = part == null ? null : JARS.matcher(part.value());
      if (jar != null && jar.find()) {
        found = true;
        report.note(part.line(), key + " names " + jar.group() + (jar.group().contains("rapids")
            ? ". Add Sluice's jar; RAPIDS' jar is for its SQL plugin" : ". Put Sluice's jar in its place"));
      }
    }
    if (!found) {
      report
          .note("Sluice's jar must be on the class path: spark.driver.extraClassPath and spark.executor.extraClassPath,"
              + " or spark.jars on Spark 4");
    }
  }

  private static void rapidsSql(Report report, Map<String, Part> settings) {
    Part plugins = settings.get(Translation.PLUGINS_KEY);
    if (plugins != null && plugins.value().contains(RAPIDS_SQL)) {
      report.note(plugins.line(), RAPIDS_SQL
          + " stays, and GPU operators with it. Without RAPIDS' own shuffle manager it"
          + " copies shuffled batches to host memory and serializes them there. This has not been tried with Sluice on"
          + " GPUs; without GPUs, remove it");
    }
  }

  private static void compression(Report report, Map<String, Part> settings) {
    Part compress = settings.get("spark.shuffle.compress");
    if (compress != null && compress.value().equalsIgnoreCase("false")) {
      report.note(compress.line(),
          "spark.shuffle.compress=false has Sluice write rows as they are. SparkRDMA's guide says"
              + " it; without it Sluice compresses what shrinks");
    }
  }

  /** Spark takes it for part of the first key, and ignores such keys. */
  private static void byteOrderMark(Report report, Map<String, Part> settings) {
    settings.values().stream().filter(part -> part.key().startsWith("\uFEFF")).findFirst()
        .ifPresent(part -> report.note(part.line(), "the line begins with a byte order mark, so Spark ignores it"));
  }
}
