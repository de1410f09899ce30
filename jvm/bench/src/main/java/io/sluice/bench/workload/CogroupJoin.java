package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * {@code join} of two pair RDDs, which Spark does by {@code cogroup}: {@code rows} visits, each of one of half
 * as many users. Every visit finds its user, about six in seven users have a visit.
 */
public final class CogroupJoin extends PairWorkload<Long, Tuple2<String, String>> {

  private static final long USER_SEED = 0x2545F4914F6CDD1DL;

  @Override
  protected JavaPairRDD<Long, Tuple2<String, String>> result(JavaSparkContext context, Sizing sizing) {
    long users = Math.max(1, sizing.rows() / 2);
    JavaPairRDD<Long, String> visits = GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(),
        row -> new Tuple2<>(Scatter.below(row, users), Words.line(row)));
    JavaPairRDD<Long, String> names = GeneratedRecords.pairs(context, users, sizing.maps(),
        user -> new Tuple2<>(user, Words.drawn(user ^ USER_SEED)));
    return visits.join(names, sizing.partitionsOr(PARTITIONS));
  }
}
