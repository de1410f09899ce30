package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** TeraSort with a partitioner and an order of the job's own, as the TeraSort programs for Spark have them. */
public final class SparkTeraSort extends PairWorkload<byte[], byte[]> {

  @Override
  protected JavaPairRDD<byte[], byte[]> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(),
        row -> new Tuple2<>(TeraRecord.key(row), TeraRecord.value(row)))
        .repartitionAndSortWithinPartitions(
            new KeyPrefixPartitioner(sizing.partitionsOr(PARTITIONS)), new UnsignedBytesOrder());
  }

  @Override
  protected boolean sorted() {
    return true;
  }
}
