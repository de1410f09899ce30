package io.sluice.bench.tpch;

import java.math.BigDecimal;
import java.nio.file.Path;

/**
 * The eight tables at one scale factor, each in Parquet files in its own folder below one folder.
 *
 * @param scale the scale factor: 1 is about a gigabyte of text
 * @param folder absolute path of the folder
 */
public record TpchTables(double scale, String folder) {

  /** About how many rows all tables have at scale 1. Two tables do not grow; lines are four per order on average. */
  public static final long ROWS_AT_SCALE_1 = 8_660_030;

  /** About how many bytes of text a row is: a gigabyte of them at scale 1. */
  public static final int ROW_BYTES = 115;

  private static final double MIN_SCALE = 0.001;
  private static final double MAX_SCALE = 10_000;

  public TpchTables {
    checkScale(scale);
  }

  /** Those of {@code scale} below {@code cache}, in a folder that is named after the scale. */
  public static TpchTables below(Path cache, double scale) {
    String number = BigDecimal.valueOf(scale).stripTrailingZeros().toPlainString();
    return new TpchTables(scale, cache.resolve("sf" + number).toAbsolutePath().toString());
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
    return Math.round(ROWS_AT_SCALE_1 * scale);
  }

  /** Where the files of {@code table} are. */
  String path(Table table) {
    return folder + "/" + table.label();
  }
}
