package io.sluice.bench.workload;

import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** HiBench's WordCount: words that follow Zipf's law, counted by {@code reduceByKey}; a row is a word. */
public final class WordCount extends PairWorkload<String, Integer> {

  @Override
  protected JavaPairRDD<String, Integer> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(), row -> new Tuple2<>(Words.drawn(row), 1))
        .reduceByKey(Integer::sum, sizing.partitionsOr(PARTITIONS));
  }
}
