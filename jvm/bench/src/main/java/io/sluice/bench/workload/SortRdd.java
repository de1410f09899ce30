package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * HiBench's Sort: lines of text, each with a 1, by {@code sortByKey}. Spark samples the lines first, so they
 * are generated twice.
 */
public final class SortRdd extends PairWorkload<String, Integer> {

  @Override
  protected JavaPairRDD<String, Integer> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(), row -> new Tuple2<>(Words.line(row), 1))
        .sortByKey(true, sizing.partitionsOr(PARTITIONS));
  }

  @Override
  protected boolean sorted() {
    return true;
  }
}
