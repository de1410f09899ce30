package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.sum;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The same actions on Spark's own shuffle and on Sluice's, which removes shuffles when SQL executions end: each action
 * runs and skips the same stages, and gives the same rows. So no shuffle has gone that an action uses again.
 */
@Timeout(300)
class SqlReuseTest {
  private static final long ROWS = 1_000;
  /** Other numbers of tasks than the table's, so that stages can be told apart. */
  private static final int JOINED_PARTITIONS = 4;

  private static final String TWICE = "a Dataset collected and counted twice";
  private static final Map<String, BiConsumer<Actions, Path>> SHORT = new LinkedHashMap<>();
  private static final Map<String, BiConsumer<Actions, Path>> ALL = new LinkedHashMap<>();

  static {
    SHORT.put(TWICE, SqlReuseTest::collectedTwice);
    SHORT.put("a cached table", SqlReuseTest::cached);
    SHORT.put("a checkpoint", SqlReuseTest::checkpoint);
    SHORT.put("a stateful stream with Spark's sink", SqlReuseTest::streamInMemory);
    ALL.putAll(SHORT);
    ALL.put("a Dataset used twice in a query", SqlReuseTest::usedTwice);
    ALL.put("what is made of a Dataset and of a cached table", SqlReuseTest::derived);
    ALL.put("other checkpoints", SqlReuseTest::otherCheckpoints);
    ALL.put("RDDs and iterators", SqlReuseTest::rddsAndIterators);
    ALL.put("commands", SqlReuseTest::commands);
    ALL.put("a stateful stream with foreachBatch", SqlReuseTest::streamWithForeachBatch);
  }

  @TempDir Path folder;

  /** Runs actions and notes what each has come to: its rows and its stages. */
  private static final class Actions {
    final SparkApplication application;
    final SparkSession spark;
    private final JobStages stages = new JobStages();
    private final List<String> lines = new ArrayList<>();

    Actions(SparkApplication application) {
      this.application = application;
      spark = application.session();
      spark.sparkContext().addSparkListener(stages);
    }

    /** Each action begins when the listeners, with them Sluice's removals, are through with the one before. */
    void run(String name, Supplier<Object> action) {
      Object result = action.get();
      application.events();
      lines.add(name + ": " + result);
      stages.takeLines().forEach(line -> lines.add("  " + line));
    }

    /** A line for each action and for each stage of its jobs. */
    List<String> of(BiConsumer<Actions, Path> sequence, Path folder) {
      lines.clear();
      sequence.accept(this, folder);
      return List.copyOf(lines);
    }
  }

  @Test
  void stagesAndRowsAreStocks() throws IOException {
    assertStocks(SHORT, "true");
  }

  @InAll
  @ParameterizedTest
  @ValueSource(strings = {"true", "false"})
  void stagesAndRowsOfMoreActionsAreStocks(String adaptive) throws IOException {
    assertStocks(ALL, adaptive);
  }

  private void assertStocks(Map<String, BiConsumer<Actions, Path>> sequences, String adaptive) throws IOException {
    Streams.addFiles(folder.resolve("input"), 0, 2);
    Map<String, List<String>> expected = new LinkedHashMap<>();
    try (SparkApplication stock = start(Engine.STOCK, adaptive)) {
      Actions actions = new Actions(stock);
      sequences.forEach((name, sequence) -> expected.put(name, actions.of(sequence, ofRun("stock", name))));
    }
    expected.forEach((name, lines) -> assertTrue(skipsAStage(lines), () -> name + ": " + text(lines)));
    try (SparkApplication sluice = start(Engine.UNDER_TEST, adaptive)) {
      Actions actions = new Actions(sluice);
      sequences.forEach((name, sequence) -> assertEquals(text(expected.get(name)),
          text(actions.of(sequence, ofRun("sluice", name))), name));
      assertEquals(List.of(), sluice.events().fetchFailures());
      assertEquals(0, sluice.events().retriedStages());
      if (Engine.writesFrames()) {
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        // Two counts of three shuffles each, two batches.
        assertTrue(ProcessCounters.here(Counter.CLEANUP_SHUFFLES) >= 8, "few shuffles were removed");
        assertTheComparisonSeesARemoval(actions, expected.get(TWICE));
      }
    }
  }

  /** Shuffles of plans that run again are removed: their stages run where stock skips them. */
  private void assertTheComparisonSeesARemoval(Actions actions, List<String> expected) {
    actions.spark.conf().set("spark.sluice.sql.cleanup", "all");
    List<String> lines = actions.of(SHORT.get(TWICE), ofRun("all", TWICE));
    assertNotEquals(expected, lines);
    assertEquals(results(expected), results(lines));
  }

  private static SparkApplication start(Engine engine, String adaptive) {
    return SparkApplication.on(engine)
        // What goes is removed when an execution ends, not when the driver's garbage collection comes.
        .set("spark.cleaner.referenceTracking", "false")
        .set("spark.sql.adaptive.enabled", adaptive)
        .set("spark.sql.session.timeZone", "UTC")
        .set("spark.sql.shuffle.partitions", "2")
        .start();
  }

  private Path ofRun(String run, String sequence) {
    return folder.resolve(run).resolve(sequence.replace(' ', '-'));
  }

  private static boolean skipsAStage(List<String> lines) {
    return lines.stream().anyMatch(line -> line.endsWith("skipped"));
  }

  private static List<String> results(List<String> lines) {
    return lines.stream().filter(line -> !line.startsWith("  ")).toList();
  }

  private static String text(List<String> lines) {
    return String.join("\n", lines);
  }

  private static Dataset<Row> table(SparkSession spark) {
    return spark.range(0, ROWS, 1, 3).selectExpr("id", "id % 10 AS k");
  }

  private static Dataset<Row> joined(SparkSession spark) {
    Dataset<Row> sums = table(spark).groupBy("k").agg(sum("id").as("s"));
    return table(spark).repartition(JOINED_PARTITIONS, col("k")).join(sums, "k").select("id", "s");
  }

  /** The rows in any order, in a few words. */
  private static String rows(Dataset<Row> data) {
    return digest(data.collectAsList());
  }

  private static String digest(List<Row> rows) {
    return rows.size() + " rows, " + Integer.toHexString(rows.stream().map(Row::toString).sorted().toList().hashCode());
  }

  private static void collectedTwice(Actions actions, Path folder) {
    Dataset<Row> data = joined(actions.spark);
    actions.run("collect", () -> rows(data));
    actions.run("collect again", () -> rows(data));
    actions.run("count", data::count);
    actions.run("count again", data::count);
    actions.run("collect after counts", () -> rows(data));
  }

  private static void cached(Actions actions, Path folder) {
    Dataset<Row> cached = joined(actions.spark).persist(StorageLevel.MEMORY_ONLY());
    actions.run("count", cached::count);
    actions.run("count of cached blocks", cached::count);
    evictBlocks(actions);
    actions.run("count after eviction", cached::count);
    cached.unpersist(true);
    actions.run("count without the cache", cached::count);
  }

  /** As memory that is full evicts them: Spark makes them again of the cached table's own shuffles. */
  private static void evictBlocks(Actions actions) {
    actions.application.context().getPersistentRDDs().keySet()
        .forEach(id -> SparkEnv.get().blockManager().master().removeRdd(id, true));
  }

  private static void checkpoint(Actions actions, Path folder) {
    actions.spark.sparkContext().setCheckpointDir(folder.toString());
    Dataset<Row> data = joined(actions.spark);
    List<Dataset<Row>> made = new ArrayList<>();
    actions.run("checkpoint", () -> made.add(data.checkpoint()));
    actions.run("collect of it", () -> rows(made.get(0)));
    actions.run("collect of what it was made of", () -> rows(data));
  }

  private static void otherCheckpoints(Actions actions, Path folder) {
    actions.spark.sparkContext().setCheckpointDir(folder.toString());
    List<Dataset<Row>> made = new ArrayList<>();
    actions.run("lazy checkpoint", () -> made.add(joined(actions.spark).checkpoint(false)));
    actions.run("count makes it", () -> made.get(0).count());
    actions.run("count of it", () -> made.get(0).count());
    actions.run("collect of groups of it", () -> rows(made.get(0).groupBy("s").count()));
    actions.run("local checkpoint", () -> made.add(joined(actions.spark).localCheckpoint()));
    actions.run("collect of the local one", () -> rows(made.get(1)));
    actions.run("count of the local one", () -> made.get(1).count());
  }

  private static void usedTwice(Actions actions, Path folder) {
    Dataset<Row> shuffled = table(actions.spark).repartition(JOINED_PARTITIONS, col("k"));
    Dataset<Row> both = shuffled.as("a").join(shuffled.as("b"), expr("a.id = b.id AND a.k = b.k"))
        .selectExpr("a.id", "b.k");
    actions.run("count of a join with itself", both::count);
    actions.run("collect of a join with itself", () -> rows(both));
    actions.run("collect again", () -> rows(both));
    actions.run("collect of its half", () -> rows(shuffled));
    Dataset<Row> one = joined(actions.spark);
    Dataset<Row> twice = one.union(one);
    actions.run("collect of a union with itself", () -> rows(twice));
    actions.run("count of a union with itself", twice::count);
    actions.run("collect of the union again", () -> rows(twice));
  }

  private static void derived(Actions actions, Path folder) {
    Dataset<Row> data = joined(actions.spark);
    actions.run("collect", () -> rows(data));
    actions.run("first of an order", () -> data.orderBy("id").first());
    actions.run("collect of some of its rows", () -> rows(data.where("id < 100")));
    actions.run("collect again", () -> rows(data));
    Dataset<Row> cached = joined(actions.spark).persist(StorageLevel.MEMORY_AND_DISK());
    actions.run("collect of groups of the cached table", () -> rows(cached.groupBy("s").count()));
    actions.run("collect of the cached table", () -> rows(cached));
    evictBlocks(actions);
    actions.run("collect after eviction", () -> rows(cached));
    cached.unpersist(true);
    actions.run("collect without the cache", () -> rows(cached));
    actions.run("collect without the cache again", () -> rows(cached));
  }

  private static void rddsAndIterators(Actions actions, Path folder) {
    JavaRDD<Row> rdd = joined(actions.spark).javaRDD();
    actions.run("count of the RDD", rdd::count);
    actions.run("count of the RDD again", rdd::count);
    Dataset<Row> data = joined(actions.spark);
    actions.run("iterator", () -> {
      List<Row> all = new ArrayList<>();
      for (Iterator<Row> rows = data.toLocalIterator(); rows.hasNext();) {
        all.add(rows.next());
      }
      return digest(all);
    });
    actions.run("collect after it", () -> rows(data));
  }

  private static void commands(Actions actions, Path folder) {
    Dataset<Row> data = joined(actions.spark);
    actions.run("collect", () -> rows(data));
    actions.run("write", () -> write(data, folder.resolve("1")));
    actions.run("write again", () -> write(data, folder.resolve("2")));
    actions.run("collect of what was written", () -> rows(actions.spark.read().parquet(folder + "/2")));
    actions.run("collect again", () -> rows(data));
  }

  private static Object write(Dataset<Row> data, Path path) {
    data.write().parquet(path.toString());
    return path.getFileName();
  }

  private static void streamInMemory(Actions actions, Path folder) {
    DataStreamWriter<Row> writer =
        totals(actions, folder).outputMode("complete").format("memory").queryName("totals");
    actions.run("two batches", () -> run(writer, folder));
    Dataset<Row> byRest = actions.spark.table("totals").groupBy(expr("k % 5")).agg(sum("total"));
    actions.run("collect of groups of the totals", () -> rows(byRest));
    actions.run("collect again", () -> rows(byRest));
  }

  /** The function runs the plan of each batch twice. */
  private static void streamWithForeachBatch(Actions actions, Path folder) {
    List<String> results = new ArrayList<>();
    DataStreamWriter<Row> writer = totals(actions, folder).outputMode("update")
        .foreachBatch((VoidFunction2<Dataset<Row>, Long>) (batch, number) -> {
          results.add(rows(batch));
          results.add(rows(batch));
        });
    actions.run("two batches, each collected twice", () -> run(writer, folder) + results);
  }

  /** Of two files, a batch for each. */
  private static DataStreamWriter<Row> totals(Actions actions, Path folder) {
    String input = folder.getParent().getParent().resolve("input").toString();
    return actions.spark.readStream().schema("id LONG, k LONG, t TIMESTAMP").option("maxFilesPerTrigger", 1).csv(input)
        .groupBy("k").agg(sum("id").as("total")).writeStream().trigger(Trigger.AvailableNow());
  }

  private static String run(DataStreamWriter<Row> writer, Path folder) {
    try {
      var query = writer.option("checkpointLocation", folder.resolve("checkpoint").toString()).start();
      assertTrue(query.awaitTermination(120_000), "the stream has not ended");
      return query.lastProgress().batchId() + " is the last batch ";
    } catch (TimeoutException | StreamingQueryException e) {
      throw new AssertionError("the stream failed", e);
    }
  }
}
