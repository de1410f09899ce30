package io.sluice.bench.check;

import java.util.List;
import org.apache.spark.api.java.JavaPairRDD;
import scala.Tuple2;

/** Digests the result of an RDD job on the executors. */
public final class PairDigester {

  private PairDigester() {}

  /** Runs {@code result} and digests it; {@code sorted} says whether its keys must ascend. */
  public static <K, V> Digest digest(JavaPairRDD<K, V> result, boolean sorted) {
    return PartitionDigest.combine(result
        .mapPartitions(records -> List.of(PartitionDigest.of(records, RecordHash::of,
            sorted ? PairDigester::key : record -> SortKey.NONE)).iterator())
        .collect());
  }

  private static SortKey key(Tuple2<?, ?> record) {
    return new SortKey(record._1());
  }
}
