package io.sluice.bench.workload;

import org.apache.spark.sql.SparkSession;

/** A workload that is there for what the driver keeps of its shuffles, which must live until that was measured. */
public interface HeldWorkload extends Workload {

  /** Runs the whole job, as {@link #run} does; its shuffles live as long as the returned object. */
  Object runHeld(SparkSession spark, Sizing sizing);

  @Override
  default void run(SparkSession spark, Sizing sizing) {
    runHeld(spark, sizing);
  }
}
