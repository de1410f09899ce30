package io.sluice.bench.tables;

import java.math.BigDecimal;
import java.nio.file.Path;

/**
 * The tables of a benchmark at one scale factor, each in Parquet files in its own folder below one folder.
 *
 * @param benchmark whose tables
 * @param scale the scale factor: 1 is about a gigabyte of text
 * @param form how the files are laid out
 * @param folder absolute path of the folder
 */
public record TableFiles(Benchmark benchmark, double scale, TableForm form, String folder) {

  private static final double MIN_SCALE = 0.001;
  private static final double MAX_SCALE = 10_000;

  public TableFiles {
    checkScale(scale);
  }

  /** Plain ones of {@code scale} below {@code cache}, in a folder that is named after the scale. */
  public static TableFiles below(Path cache, Benchmark benchmark, double scale) {
    return below(cache, benchmark, scale, TableForm.PLAIN);
  }

  /** The same of any form, in a folder that is named after scale and form. */
  public static TableFiles below(Path cache, Benchmark benchmark, double scale, TableForm form) {
    String number = BigDecimal.valueOf(scale).stripTrailingZeros().toPlainString();
    return new TableFiles(benchmark, scale, form,
        cache.resolve("sf" + number + form.folderEnd()).toAbsolutePath().toString());
  }

  /**
   * Checks that there can be tables of {@code scale}.
   *
   * @throws IllegalArgumentException naming the range if there cannot
   */
  public static void checkScale(double scale) {
    if (!(scale >= MIN_SCALE && scale <= MAX_SCALE)) {
      throw new IllegalArgumentException("--scale must be between 0.001 and 10000, not " + scale);
    }
  }

  /** About how many rows all tables have together. */
  public long rows() {
    return benchmark.rows(scale);
  }

  /** Where the files of {@code table} are. */
  public String path(GeneratedTable table) {
    return folder + "/" + table.label();
  }

  /**
   * Where the benchmark's queries are, if they are files: beside the tables, because they are the same at any scale.
   */
  public Path queries() {
    return Path.of(folder).resolveSibling("queries");
  }
}
