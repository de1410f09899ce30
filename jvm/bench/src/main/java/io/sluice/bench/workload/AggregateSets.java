package io.sluice.bench.workload;

import java.util.HashSet;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** {@code aggregateByKey} to sets: which words follow each of the words before them. */
public final class AggregateSets extends PairWorkload<String, Integer> {

  @Override
  protected JavaPairRDD<String, Integer> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords
        .pairs(context, sizing.rows(), sizing.maps(), row -> new Tuple2<>(Words.drawn(row), Words.drawn(row + 1)))
        .aggregateByKey(new HashSet<String>(), sizing.partitionsOr(PARTITIONS), AggregateSets::add,
            AggregateSets::addAll)
        .mapValues(HashSet::size);
  }

  private static HashSet<String> add(HashSet<String> set, String word) {
    set.add(word);
    return set;
  }

  private static HashSet<String> addAll(HashSet<String> set, HashSet<String> other) {
    set.addAll(other);
    return set;
  }
}
