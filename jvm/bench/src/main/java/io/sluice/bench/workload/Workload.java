package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import org.apache.spark.sql.SparkSession;

/**
 * One job that is timed, and whose result can be compared between engines.
 *
 * <p>Implementations have a public constructor without arguments, keep no state between calls, and give
 * equal results for equal {@link Sizing} whatever the engine.
 */
public interface Workload {

  /** Runs the whole job and drops its result; what is timed. */
  void run(SparkSession spark, Sizing sizing);

  /** Runs the job again and digests its result; never timed. */
  Digest verify(SparkSession spark, Sizing sizing);
}
