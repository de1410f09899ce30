package io.sluice.bench.workload;

import java.util.SplittableRandom;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** The GroupBy of Spark's examples and of SparkRDMA's slides: random int keys, random values of 4,096 bytes. */
public final class GroupBy extends PairWorkload<Integer, Iterable<byte[]>> {

  /** Bytes of one value. */
  static final int VALUE_BYTES = 4096;

  @Override
  protected JavaPairRDD<Integer, Iterable<byte[]>> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(), GroupBy::record)
        .groupByKey(sizing.partitionsOr(PARTITIONS));
  }

  private static Tuple2<Integer, byte[]> record(long row) {
    byte[] value = new byte[VALUE_BYTES];
    new SplittableRandom(row).nextBytes(value);
    return new Tuple2<>((int) (Scatter.mix(row) & Integer.MAX_VALUE), value);
  }
}
