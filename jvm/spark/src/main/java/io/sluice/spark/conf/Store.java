package io.sluice.spark.conf;

/** Where map output lives: the values of {@code spark.sluice.store}. */
public enum Store {
  /** In Spark's data, index and checksum files. */
  FILES,
  /** In memory while there is room, behind the same names. */
  CACHE
}
