package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** {@code reduceByKey} of nested tuples: visits and seconds by page, hour and country. */
public final class NestedTuples
    extends
      PairWorkload<Tuple2<String, Tuple2<Long, Integer>>, Tuple2<Long, Integer>> {

  private static final long HOURS = 24;
  private static final long COUNTRIES = 200;
  private static final long LONGEST_VISIT = 1_000;

  @Override
  protected JavaPairRDD<Tuple2<String, Tuple2<Long, Integer>>, Tuple2<Long, Integer>> result(
      JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(), NestedTuples::visit)
        .reduceByKey((left, right) -> new Tuple2<>(left._1() + right._1(), left._2() + right._2()),
            sizing.partitionsOr(PARTITIONS));
  }

  static Tuple2<Tuple2<String, Tuple2<Long, Integer>>, Tuple2<Long, Integer>> visit(long row) {
    Tuple2<Long, Integer> hourAndCountry =
        new Tuple2<>(Scatter.below(row + 1, HOURS), (int) Scatter.below(row + 2, COUNTRIES));
    return new Tuple2<>(new Tuple2<>(Words.drawn(row), hourAndCountry),
        new Tuple2<>(Scatter.below(row + 3, LONGEST_VISIT), 1));
  }
}
