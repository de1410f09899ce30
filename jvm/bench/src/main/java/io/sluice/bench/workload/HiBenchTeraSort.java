package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * HiBench's TeraSort: {@code sortByKey} over 10-byte keys, with ranges that Spark samples and an order that only the
 * job knows.
 */
public final class HiBenchTeraSort extends PairWorkload<byte[], byte[]> {

  @Override
  protected JavaPairRDD<byte[], byte[]> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(),
        row -> new Tuple2<>(TeraRecord.key(row), TeraRecord.value(row)))
        .sortByKey(new UnsignedBytesOrder(), true, sizing.partitionsOr(PARTITIONS));
  }

  @Override
  protected boolean sorted() {
    return true;
  }
}
