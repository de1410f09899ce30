package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** {@code distinct} of longs, drawn from half as many, so that 86 % of those occur. */
public final class Distinct extends PairWorkload<Long, Integer> {

  @Override
  protected JavaPairRDD<Long, Integer> result(JavaSparkContext context, Sizing sizing) {
    long bound = Math.max(1, sizing.rows() / 2);
    return GeneratedRecords.records(context, sizing.rows(), sizing.maps(), row -> Scatter.below(row, bound))
        .distinct(sizing.partitionsOr(PARTITIONS))
        .mapToPair(number -> new Tuple2<>(number, 1));
  }
}
