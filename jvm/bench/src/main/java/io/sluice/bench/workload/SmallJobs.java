package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** One job after the other, each with a shuffle of ten rows: what is measured is the cost of having a shuffle. */
public final class SmallJobs implements Workload {

  /** Rows of a job. */
  public static final int ROWS = 10;
  private static final int MAPS = 2;
  private static final int PARTITIONS = 2;
  private static final long KEYS = 5;

  @Override
  public void run(SparkSession spark, Sizing sizing) {
    sums(JavaSparkContext.fromSparkContext(spark.sparkContext()), sizing);
  }

  @Override
  public Digest verify(SparkSession spark, Sizing sizing) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return PairDigester.digest(context.parallelizePairs(sums(context, sizing)), false);
  }

  /** The results of all jobs. */
  private static List<Tuple2<Long, Long>> sums(JavaSparkContext context, Sizing sizing) {
    List<Tuple2<Long, Long>> all = new ArrayList<>();
    for (long row = 0; row < sizing.rows(); row += ROWS) {
      List<Tuple2<Long, Long>> rows = LongStream.range(row, row + ROWS)
          .mapToObj(number -> new Tuple2<>(Scatter.below(number, KEYS), number)).toList();
      all.addAll(context.parallelizePairs(rows, MAPS).reduceByKey(Long::sum, PARTITIONS).collect());
    }
    return all;
  }
}
