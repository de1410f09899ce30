package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * One shuffle with as many blocks as rows: a row from each map task to each reduce task, of which there are as many
 * unless the user says how many reduce tasks. The driver keeps a size of every block.
 */
public final class ManyBlocks implements HeldWorkload {

  @Override
  public Object runHeld(SparkSession spark, Sizing sizing) {
    JavaPairRDD<Integer, Long> rows = rows(spark, sizing);
    rows.foreachPartition(records -> records.forEachRemaining(record -> {}));
    return rows;
  }

  @Override
  public Digest verify(SparkSession spark, Sizing sizing) {
    return PairDigester.digest(rows(spark, sizing), false);
  }

  private static JavaPairRDD<Integer, Long> rows(SparkSession spark, Sizing sizing) {
    int reducers = sizing.partitionsOr(side(sizing.rows()));
    int maps = maps(sizing.rows(), reducers);
    return GeneratedRecords.pairs(JavaSparkContext.fromSparkContext(spark.sparkContext()), sizing.rows(), maps,
        row -> new Tuple2<>((int) (row % reducers), row)).partitionBy(new HashPartitioner(reducers));
  }

  /** Map tasks, and reduce tasks, that make {@code blocks}, or a few more. */
  static int side(long blocks) {
    return Math.max(1, (int) Math.ceil(Math.sqrt(blocks)));
  }

  /** Map tasks that make {@code blocks} with so many reduce tasks. */
  static int maps(long blocks, int reducers) {
    return Math.max(1, (int) ((blocks + reducers - 1) / reducers));
  }
}
