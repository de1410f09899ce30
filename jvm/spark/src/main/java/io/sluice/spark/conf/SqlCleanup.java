package io.sluice.spark.conf;

/**
 * Which shuffles are removed when the SQL execution that made them ends: the values of
 * {@code spark.sluice.sql.cleanup}.
 */
public enum SqlCleanup {
  /** None: Spark's cleaner removes a shuffle after the driver's garbage collector has found it unreachable. */
  OFF,
  /** Those of plans that Spark made for one action, so that no other action can run them. */
  UNREFERENCED,
  /** Those of all plans: an action that runs a plan again computes its shuffles again. */
  ALL
}
