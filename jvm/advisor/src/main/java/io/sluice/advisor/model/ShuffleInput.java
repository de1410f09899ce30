package io.sluice.advisor.model;

import java.util.List;

/**
 * An RDD of a stage that reads a shuffle.
 *
 * @param rdd its class, such as {@code ShuffledRowRDD}
 * @param operation the call that made it, such as {@code reduceByKey}; empty if the log does not say
 * @param parents numbers of the RDDs before the shuffle
 * @param partitions of the RDD; with adaptive execution fewer than the shuffle may have
 */
public record ShuffleInput(String rdd, String operation, List<Integer> parents, long partitions) {

  /** Whether its rows are those of a query of Spark SQL. */
  public boolean isSql() {
    return rdd.equals("ShuffledRowRDD");
  }
}
