package io.sluice.spark.metrics;

import java.io.Serializable;
import java.util.TreeMap;

/**
 * How an executor fares at the moment when it is sent.
 *
 * @param nativeCore whether the executor uses the native library
 * @param selfTest what the native library said when it was loaded, or why it is not used
 * @param figures gauges and the executor's own counters by the ids of their metrics; those that are 0 are left out
 * @param fetches how long the blocks took that it has fetched
 * @param peers those that it may read one-sidedly
 */
public record ExecutorReport(String executorId, String host, boolean nativeCore, String selfTest,
    TreeMap<String, Long> figures, FetchReport fetches, PeerReport peers)
    implements
      Serializable {
  private static final long serialVersionUID = 2L;

  /** Of an executor that has fetched nothing. */
  public ExecutorReport(
      String executorId, String host, boolean nativeCore, String selfTest, TreeMap<String, Long> figures) {
    this(executorId, host, nativeCore, selfTest, figures, FetchReport.NONE, PeerReport.NONE);
  }
}
