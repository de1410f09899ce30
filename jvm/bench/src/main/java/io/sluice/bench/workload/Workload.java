package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import org.apache.spark.sql.SparkSession;

/**
 * One job that is timed, and whose result can be compared between engines.
 *
 * <p>Implementations keep no state between calls, and give equal results for equal {@link Sizing} whatever the
 * engine.
 */
public interface Workload {

  /**
   * Whether the job is given a session in which Spark plans queries as it does for users who have set nothing.
   * The other workloads are there for their shuffles: no plan may avoid one.
   */
  default boolean wantsSparksDefaults() {
    return false;
  }

  /** Does what comes before the job and is no part of it; called before every other call, never timed. */
  default void prepare(SparkSession spark, Sizing sizing) {}

  /** Runs the whole job and drops its result; what is timed. */
  void run(SparkSession spark, Sizing sizing);

  /** Runs the job again and digests its result; never timed. */
  Digest verify(SparkSession spark, Sizing sizing);
}
