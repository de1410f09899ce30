package io.sluice.spark.metrics;

import java.io.Serializable;
import java.util.TreeMap;

/**
 * How an executor fares at the moment when it is sent.
 *
 * @param nativeCore whether the executor uses the native library
 * @param selfTest what the native library said when it was loaded, or why it is not used
 * @param javaVersion of the executor's Java
 * @param figures gauges and the executor's own counters by the ids of their metrics; those that are 0 are left out
 * @param fallbacks what it did otherwise than its settings ask for: counters, likewise
 * @param fetches how long the blocks took that it has fetched
 * @param peers those that it may read one-sidedly
 */
public record ExecutorReport(String executorId, String host, boolean nativeCore, String selfTest, String javaVersion,
    TreeMap<String, Long> figures, TreeMap<String, Long> fallbacks, FetchReport fetches, PeerReport peers)
    implements
      Serializable {
  private static final long serialVersionUID = 3L;

  /** Of an executor that has fetched nothing and fallen back to nothing. */
  public ExecutorReport(
      String executorId, String host, boolean nativeCore, String selfTest, TreeMap<String, Long> figures) {
    this(executorId, host, nativeCore, selfTest, System.getProperty("java.version"), figures, new TreeMap<>(),
        FetchReport.NONE, PeerReport.NONE);
  }
}
