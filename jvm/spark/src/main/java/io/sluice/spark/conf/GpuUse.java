package io.sluice.spark.conf;

/** Whether executors encode map output on a GPU: the values of {@code spark.sluice.gpu}. */
public enum GpuUse {
  /** No driver is looked for. */
  OFF,
  /** Where there is a GPU, for batches for which it is faster. */
  AUTO,
  /** For all batches that it takes. */
  ON
}
