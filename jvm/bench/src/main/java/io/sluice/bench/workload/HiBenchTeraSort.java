package io.sluice.bench.workload;

import java.io.Serializable;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Function2;
import scala.Tuple2;
import scala.math.Ordering;

import scala.math.Ordering$;

/**
 * HiBench's TeraSort: {@code sortByKey} over 10-byte keys, with ranges that Spark samples and an order that only the
 * job knows, made of a function that says whether one key is before another.
 */
public final class HiBenchTeraSort extends PairWorkload<byte[], byte[]> {

  private static Ordering<byte[]> order() {
    UnsignedBytesOrder order = new UnsignedBytesOrder();
    return Ordering$.MODULE$.fromLessThan(
        (Function2<byte[], byte[], Object> & Serializable) (left, right) -> order.compare(left, right) < 0);
  }

  @Override
  protected JavaPairRDD<byte[], byte[]> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(),
        row -> new Tuple2<>(TeraRecord.key(row), TeraRecord.value(row)))
        .sortByKey(order(), true, sizing.partitionsOr(PARTITIONS));
  }

  @Override
  protected boolean sorted() {
    return true;
  }
}
