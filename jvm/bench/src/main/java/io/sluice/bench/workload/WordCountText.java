package io.sluice.bench.workload;

import org.apache.hadoop.io.Text;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.serializer.KryoSerializer;
import scala.Tuple2;

/** WordCount with Hadoop's {@code Text} as the key, as jobs have it that read Hadoop's formats; serialized by Kryo. */
public final class WordCountText extends PairWorkload<String, Integer> {

  @Override
  protected JavaPairRDD<String, Integer> result(JavaSparkContext context, Sizing sizing) {
    return GeneratedRecords
        .pairs(context, sizing.rows(), sizing.maps(), row -> new Tuple2<>(new Text(Words.drawn(row)), 1))
        .combineByKey(count -> count, Integer::sum, Integer::sum,
            new HashPartitioner(sizing.partitionsOr(PARTITIONS)), true, new KryoSerializer(context.getConf()))
        .mapToPair(word -> new Tuple2<>(word._1().toString(), word._2()));
  }
}
