package io.sluice.systemtests;

import static org.apache.spark.sql.functions.broadcast;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.sum;

import java.io.Serializable;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Jobs that use Spark's scheduler and storage in special ways around a shuffle; each result is comparable. */
final class RddOperations {
  private static final List<Integer> NUMBERS = IntStream.range(0, 4_000).boxed().toList();
  /** The first attempt of a task fails. */
  private static final int FAILING_ATTEMPTS = 1;

  private RddOperations() {}

  /** Those that no task fails in, by name. */
  static Map<String, Function<SparkSession, Object>> all() {
    Map<String, Function<SparkSession, Object>> all = new LinkedHashMap<>();
    all.put("barrier stage that reads a shuffle and is read by one", onContext(RddOperations::barrier));
    all.put("coalesce(1)", onContext(context -> sorted(sums(context).coalesce(1).collect())));
    all.put("repartitionAndSortWithinPartitions", onContext(context -> pairs(context)
        .repartitionAndSortWithinPartitions(new HashPartitioner(3)).keys().glom().collect()));
    all.put("treeAggregate", onContext(context -> context.parallelize(NUMBERS, 16)
        .treeAggregate(0L, (total, number) -> total + number, Long::sum, 3)));
    all.put("checkpoint", onContext(RddOperations::checkpoint));
    all.put("local checkpoint", onContext(RddOperations::localCheckpoint));
    all.put("broadcast of shuffled data", onContext(RddOperations::broadcastOfSums));
    all.put("broadcast join with a shuffled table", RddOperations::broadcastJoin);
    all.put("cached table that is evicted and computed again", RddOperations::evicted);
    return all;
  }

  private static Function<SparkSession, Object> onContext(Function<JavaSparkContext, Object> body) {
    return spark -> body.apply(JavaSparkContext.fromSparkContext(spark.sparkContext()));
  }

  private static JavaPairRDD<Integer, Long> pairs(JavaSparkContext context) {
    return context.parallelize(NUMBERS, 3).mapToPair(number -> new Tuple2<>(number * 7919 % 4_001, (long) number));
  }

  private static JavaPairRDD<Integer, Long> sums(JavaSparkContext context) {
    return pairs(context).mapToPair(pair -> new Tuple2<>(pair._1() % 97, pair._2())).reduceByKey(Long::sum, 4);
  }

  private static Map<Integer, Long> sorted(List<Tuple2<Integer, Long>> pairs) {
    Map<Integer, Long> sorted = new TreeMap<>();
    pairs.forEach(pair -> sorted.put(pair._1(), pair._2()));
    return sorted;
  }

  /** Two tasks, which all must run at once. */
  private static Object barrier(JavaSparkContext context) {
    RDD<Tuple2<Integer, Long>> shuffled = pairs(context).partitionBy(new HashPartitioner(2)).rdd();
    ClassTag<Tuple2<Integer, Long>> tag = ClassTag$.MODULE$.apply(Tuple2.class);
    JavaRDD<Tuple2<Integer, Long>> together =
        JavaRDD.fromRDD(shuffled.barrier().mapPartitions(new Together<>(), false, tag), tag);
    return sorted(
        together.mapToPair(pair -> new Tuple2<>(pair._1() % 97, pair._2())).reduceByKey(Long::sum, 3).collect());
  }

  /** Passes rows on when all tasks of the stage are there. */
  private static final class Together<T>
      extends
        AbstractFunction1<scala.collection.Iterator<T>, scala.collection.Iterator<T>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public scala.collection.Iterator<T> apply(scala.collection.Iterator<T> rows) {
      BarrierTaskContext.get().barrier();
      return rows;
    }
  }

  private static Object checkpoint(JavaSparkContext context) {
    context.setCheckpointDir(SparkApplication.workDir().resolve("checkpoints").toString());
    JavaPairRDD<Integer, Long> sums = sums(context);
    sums.checkpoint();
    sums.count();
    if (!sums.isCheckpointed()) {
      throw new IllegalStateException("there is no checkpoint");
    }
    return sorted(sums.mapValues(sum -> sum + 1).collect());
  }

  private static Object localCheckpoint(JavaSparkContext context) {
    JavaPairRDD<Integer, Long> sums = sums(context);
    sums.rdd().localCheckpoint();
    sums.count();
    return sorted(sums.reduceByKey(Long::sum, 2).collect());
  }

  private static Object broadcastOfSums(JavaSparkContext context) {
    var known = context.broadcast(sorted(sums(context).collect()));
    return sorted(pairs(context).mapToPair(pair -> new Tuple2<>(pair._1() % 97, pair._2()))
        .mapToPair(pair -> new Tuple2<>(pair._1(), known.value().get(pair._1()) - pair._2()))
        .reduceByKey(Math::max, 3).collect());
  }

  private static Object broadcastJoin(SparkSession spark) {
    Dataset<Row> sums = Tables.events(spark, 4_000, 3).groupBy("k").agg(sum("id").as("total"));
    return Fingerprint.of(Tables.events(spark, 4_000, 3).join(broadcast(sums), "k").repartition(3, col("total"))
        .select("id", "total")).unordered();
  }

  private static Object evicted(SparkSession spark) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    Set<Integer> before = new HashSet<>(context.getPersistentRDDs().keySet());
    Dataset<Row> table =
        Tables.events(spark, 4_000, 3).groupBy("k").agg(sum("id").as("total")).persist(StorageLevel.MEMORY_ONLY());
    // The Dataset's own plan may be the one whose rows are cached, not one that reads them.
    Fingerprint first = Fingerprint.of(table.select("*")).unordered();
    // The driver's, which knows the blocks of all executors.
    BlockManagerMaster blocks = SparkEnv.get().blockManager().master();
    Set<Integer> ids = new HashSet<>(context.getPersistentRDDs().keySet());
    ids.removeAll(before);
    if (ids.isEmpty()) {
      throw new IllegalStateException("nothing is cached");
    }
    for (int id : ids) {
      RDDBlockId block = new RDDBlockId(id, 0);
      boolean cached = blocks.getLocations(block).nonEmpty();
      blocks.removeRdd(id, true);
      if (!cached || blocks.getLocations(block).nonEmpty()) {
        throw new IllegalStateException(block + (cached ? " is still cached" : " was not cached"));
      }
    }
    Fingerprint again = Fingerprint.of(table.select("*")).unordered();
    table.unpersist(true);
    return List.of(first, again);
  }

  /** The first attempt of each task that writes and of each that reads fails after some records. */
  static Object withFaults(JavaSparkContext context) {
    return sorted(pairs(context).mapPartitionsToPair(rows -> failing(rows))
        .mapToPair(pair -> new Tuple2<>(pair._1() % 97, pair._2())).reduceByKey(Long::sum, 4)
        .mapPartitionsToPair(rows -> failing(rows)).collect());
  }

  private static <T> Iterator<T> failing(Iterator<T> rows) {
    return new Iterator<>() {
      private int seen;

      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public T next() {
        if (++seen == 5 && TaskContext.get().attemptNumber() < FAILING_ATTEMPTS) {
          throw new IllegalStateException("on purpose: the first attempt of this task fails");
        }
        return rows.next();
      }
    };
  }

  /** A job that fails, because one of its tasks fails each time. */
  static void thatFails(JavaSparkContext context) {
    pairs(context).groupByKey(3).foreach(group -> {
      if (group._1() == 13) {
        throw new IllegalStateException("on purpose: each attempt of this task fails");
      }
    });
  }
}
