package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Pairs of longs, the keys in no order, by {@code sortByKey}, which samples them first: they are made twice. */
public final class SortLongs extends PairWorkload<Long, Long> {

  @Override
  protected JavaPairRDD<Long, Long> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(), row -> new Tuple2<>(Scatter.mix(row), row))
        .sortByKey(true, sizing.partitionsOr(PARTITIONS));
  }

  @Override
  protected boolean sorted() {
    return true;
  }
}
