package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;
import scala.math.Ordering;

import scala.math.Ordering$;

/** A secondary sort: records of a word and a time, {@code sortByKey} of the pair in Scala's natural order. */
public final class SortPairs extends PairWorkload<Tuple2<String, Object>, Integer> {

  @Override
  @SuppressWarnings({"unchecked", "rawtypes"}) // Scala's ordering of numbers is of its own boxed type.
  protected JavaPairRDD<Tuple2<String, Object>, Integer> result(JavaSparkContext context, Sizing sizing) {
    Ordering<Tuple2<String, Object>> order =
        Ordering$.MODULE$.Tuple2(Ordering.String$.MODULE$, (Ordering) Ordering.Long$.MODULE$);
    return GeneratedRecords
        .pairs(context, sizing.rows(), sizing.maps(),
            row -> new Tuple2<>(new Tuple2<String, Object>(Words.drawn(row), Scatter.mix(row)), row.intValue()))
        .sortByKey(order, true, sizing.partitionsOr(PARTITIONS));
  }
}
