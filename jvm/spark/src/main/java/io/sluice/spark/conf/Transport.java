package io.sluice.spark.conf;

/** How blocks travel between executors: the values of {@code spark.sluice.transport}. */
public enum Transport {
  /** Spark's own block transfer. */
  NETTY,
  /** One-sided reads through UCX; a warning when it cannot be opened. */
  UCX,
  /** One-sided reads where UCX can be opened. */
  AUTO
}
