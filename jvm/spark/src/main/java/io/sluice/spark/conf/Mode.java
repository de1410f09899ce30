package io.sluice.spark.conf;

/** The presets of {@code spark.sluice.mode}. Only the first exists yet. */
public enum Mode {
  /** Frames in Spark's files, moved by Spark's block transfer, encoded and decoded by many threads. */
  MULTITHREADED,
  UCX,
  RDMA,
  CACHE_ONLY
}
