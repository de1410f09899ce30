package io.sluice.spark.metrics;

import java.io.Serializable;
import java.util.TreeMap;

/**
 * How an executor fares at the moment when it is sent.
 *
 * @param nativeCore whether the executor uses the native library
 * @param selfTest what the native library said when it was loaded, or why it is not used
 * @param figures gauges and the executor's own counters by the ids of their metrics; those that are 0 are left out
 */
public record ExecutorReport(
    String executorId, String host, boolean nativeCore, String selfTest, TreeMap<String, Long> figures)
    implements
      Serializable {
  private static final long serialVersionUID = 1L;
}
