package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * One shuffle with as many blocks as rows: as many map tasks as reduce tasks, and a row from each to each. The driver
 * keeps a size of every block.
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
    int side = side(sizing.rows());
    return GeneratedRecords.pairs(JavaSparkContext.fromSparkContext(spark.sparkContext()), sizing.rows(), side,
        row -> new Tuple2<>((int) (row % side), row)).partitionBy(new HashPartitioner(side));
  }

  /** Map tasks, and reduce tasks, that make {@code blocks}, or a few more. */
  static int side(long blocks) {
    return Math.max(1, (int) Math.ceil(Math.sqrt(blocks)));
  }
}
