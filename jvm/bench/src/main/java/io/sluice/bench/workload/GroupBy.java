package io.sluice.bench.workload;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** The GroupBy of Spark's examples and of SparkRDMA's slides: random int keys, random values of 4,096 bytes. */
public final class GroupBy extends PairWorkload<Integer, Iterable<byte[]>> {

  /** Bytes of a value. */
  public static final int VALUE_BYTES = 4096;

  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  @Override
  protected JavaPairRDD<Integer, Iterable<byte[]>> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(), GroupBy::record)
        .groupByKey(sizing.partitionsOr(PARTITIONS));
  }

  private static Tuple2<Integer, byte[]> record(long row) {
    return new Tuple2<>((int) (Scatter.mix(row) & Integer.MAX_VALUE), value(row));
  }

  /** Bytes that do not compress. */
  static byte[] value(long row) {
    byte[] value = new byte[VALUE_BYTES];
    long seed = Scatter.mix(~row);
    for (int i = 0; i < VALUE_BYTES; i += Long.BYTES) {
      LONGS.set(value, i, Scatter.mix(seed + i));
    }
    return value;
  }
}
