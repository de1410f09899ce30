package io.sluice.spark.conf;

import org.apache.spark.SparkConf;

/**
 * Which shuffles are removed when the SQL execution that made them ends: the values of
 * {@code spark.sluice.sql.cleanup}.
 */
public enum SqlCleanup {
  /** None: Spark's cleaner removes a shuffle after the driver's garbage collector has found it unreachable. */
  OFF,
  /** Those of plans that Spark made for one execution, so that nobody can run them again. */
  UNREFERENCED,
  /** Those of all plans: an action that runs a plan again computes its shuffles again. */
  ALL;

  /**
   * Whether the application can remove shuffles before Spark's cleaner does. Not with the old fetch protocol, where a
   * map output that is computed again has the old one's map id, and a late removal would take it.
   */
  public static boolean isPossible(SparkConf conf) {
    return !conf.getBoolean("spark.shuffle.useOldFetchProtocol", false);
  }
}
