package io.sluice.systemtests;

import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.Dependency;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.CollectionAccumulator;
import scala.Tuple2;
import scala.concurrent.Await;
import scala.concurrent.duration.Duration;

/**
 * The one map output of a shuffle, and the executor that has it.
 *
 * @param shuffle Spark's number of the shuffle
 * @param blocks partitions, each of them one block
 * @param place where they are
 * @param rdd keeps the shuffle from being removed
 */
record MapOutput(int shuffle, int blocks, Place place, JavaPairRDD<Integer, byte[]> rdd) {
  private static final Duration LIMIT = Duration.create(180, "seconds");

  /** The executor of a map task, as others reach it. */
  record Place(long map, String executor, String host, int port, long process) implements Serializable {
    private static Place ofThisTask() {
      BlockManagerId here = SparkEnv.get().blockManager().blockManagerId();
      return new Place(
          TaskContext.get().taskAttemptId(), here.executorId(), here.host(), here.port(),
          ProcessHandle.current().pid());
    }
  }

  /** Runs a map task whose blocks have a record of {@code blockBytes} each. */
  @SuppressWarnings("unchecked")
  static MapOutput write(JavaSparkContext context, int blocks, int blockBytes) {
    CollectionAccumulator<Place> places = context.sc().collectionAccumulator("places");
    JavaPairRDD<Integer, byte[]> shuffled = context.parallelize(List.of(0), 1).flatMapToPair(ignored -> {
      places.add(Place.ofThisTask());
      return IntStream.range(0, blocks).mapToObj(block -> new Tuple2<>(block, new byte[blockBytes])).iterator();
    }).partitionBy(new HashPartitioner(blocks));
    Dependency<?> dependency = (Dependency<?>) shuffled.rdd().dependencies().head();
    ShuffleDependency<Integer, byte[], byte[]> shuffle = (ShuffleDependency<Integer, byte[], byte[]>) dependency;
    try {
      Await.result(context.sc().submitMapStage(shuffle), LIMIT);
    } catch (Exception e) { // Scala throws them undeclared.
      throw new IllegalStateException("the map task did not end", e);
    }
    return new MapOutput(shuffle.shuffleId(), blocks, places.value().get(0), shuffled);
  }

  /** Spark's names of its blocks. */
  String[] names() {
    return IntStream.range(0, blocks)
        .mapToObj(block -> "shuffle_" + shuffle + "_" + place.map() + "_" + block)
        .toArray(String[]::new);
  }
}
