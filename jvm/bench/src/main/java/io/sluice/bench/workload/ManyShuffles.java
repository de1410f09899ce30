package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** As many shuffles as rows, one job after the other, each of one map task and one reduce task. */
public final class ManyShuffles implements HeldWorkload {

  @Override
  public Object runHeld(SparkSession spark, Sizing sizing) {
    List<JavaPairRDD<Long, Long>> held = new ArrayList<>();
    sums(JavaSparkContext.fromSparkContext(spark.sparkContext()), sizing.rows(), held::add);
    return held;
  }

  @Override
  public Digest verify(SparkSession spark, Sizing sizing) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return PairDigester.digest(context.parallelizePairs(sums(context, sizing.rows(), shuffled -> {})), false);
  }

  /** The results of all jobs; {@code shuffles} is given each job's RDD. */
  private static List<Tuple2<Long, Long>> sums(JavaSparkContext context, long jobs,
      Consumer<JavaPairRDD<Long, Long>> shuffles) {
    List<Tuple2<Long, Long>> all = new ArrayList<>();
    for (long job = 0; job < jobs; job++) {
      JavaPairRDD<Long, Long> sum = context.parallelizePairs(
          List.of(new Tuple2<>(job, job), new Tuple2<>(job, 1L)), 1).reduceByKey(Long::sum, 1);
      all.addAll(sum.collect());
      shuffles.accept(sum);
    }
    return all;
  }
}
