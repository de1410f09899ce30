package io.sluice.bench.workload;

import com.google.common.primitives.UnsignedBytes;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * TeraSort on RDDs: pairs of a 10-byte key and a 90-byte value, shuffled by key range and sorted within
 * partitions by Guava's order of unsigned bytes, as TeraSort on Spark is usually written. The digest says what
 * TeraValidate says: order, number and checksum of the records.
 */
public final class TeraSort extends PairWorkload<byte[], byte[]> {

  @Override
  protected JavaPairRDD<byte[], byte[]> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(),
        row -> new Tuple2<>(TeraRecord.key(row), TeraRecord.value(row)))
        .repartitionAndSortWithinPartitions(
            new KeyPrefixPartitioner(sizing.partitionsOr(PARTITIONS)), UnsignedBytes.lexicographicalComparator());
  }

  @Override
  protected boolean sorted() {
    return true;
  }
}
