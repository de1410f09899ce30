package io.sluice.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.ShuffleFiles;
import io.sluice.spark.VariantsInAll;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.shuffle.MigratableResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

/** Real tasks whose map output stays in memory. */
@Timeout(180)
class CachedShuffleTest {
  private LocalSpark spark;

  private void start(String... keysAndValues) {
    Map<String, String> settings = new HashMap<>(Map.of("spark.sluice.mode", "CACHE_ONLY",
        "spark.sql.autoBroadcastJoinThreshold", "-1"));
    for (int i = 0; i < keysAndValues.length; i += 2) {
      settings.put(keysAndValues[i], keysAndValues[i + 1]);
    }
    spark = LocalSpark.start(settings);
  }

  @AfterEach
  void everythingIsGivenBack() {
    Await.until("memory is given back", () -> spark.manager().executorState().memory().budget().usedBytes() == 0);
    var cache = spark.manager().executorState().cache();
    spark.close();
    cache.ifPresent(closed -> assertEquals(0, closed.usedBytes()));
    assertEquals(0, NativeCore.leasedBytes());
  }

  private Dataset<Row> rows(long count) {
    return spark.session().range(0, count, 1, 3)
        .selectExpr("id", "xxhash64(id) as h", "concat('text ', md5(cast(id as string))) as t");
  }

  private void assertSame(Supplier<Dataset<Row>> query) {
    assertEquals(sorted(spark.onStock(query)), sorted(spark.onSluice(query)));
  }

  private static List<String> sorted(List<Row> rows) {
    return rows.stream().map(Row::toString).sorted().toList();
  }

  private Supplier<Dataset<Row>> join(long count) {
    return () -> rows(count).join(rows(count).selectExpr("h", "t as u"), "h").groupBy(functions.expr("id % 10"))
        .agg(functions.count("*"), functions.max("t"), functions.min("u"));
  }

  private static long links(String start) {
    return ShuffleFiles.named(start).stream().filter(Files::isSymbolicLink).count();
  }

  @Test
  void outputsStayInMemoryAndResultsEqualStocks() {
    start();
    assertSame(join(30_000));
    long outputs = spark.counter(Counter.WRITE_MAP_OUTPUTS);
    assertTrue(outputs > 6);
    assertEquals(outputs, spark.counter(Counter.CACHE_OUTPUTS));
    assertEquals(spark.counter(Counter.WRITE_BLOCK_BYTES), spark.counter(Counter.CACHE_BYTES));
    assertEquals(0, spark.counter(Counter.CACHE_MOVES));
    assertEquals(outputs, links("shuffle_"));
  }

  /** The limit holds about a third of one side: most outputs move, and are read from where they are then. */
  @VariantsInAll(oneOf = 2)
  @ParameterizedTest
  @CsvSource({"2m, 0", "2m, 2", "4m, 2"})
  void aLimitSmallerThanTheShuffleMovesOutputs(String limit, String threads) {
    start("spark.sluice.cache.hostLimit", limit, "spark.sluice.writer.threads", threads,
        "spark.sluice.codec.level", "plain");
    assertSame(join(60_000));
    assertTrue(spark.counter(Counter.CACHE_MOVES) > 0, () -> spark.manager().counters().snapshot().toString());
    assertTrue(spark.manager().executorState().cache().orElseThrow().usedBytes()
        <= spark.manager().settings().store().cacheLimit().bytes());
  }

  @Test
  void aTaskThatSpilledCommitsToMemory() {
    start("spark.sluice.memory.limit", "16m", "spark.sluice.writer.threads", "0", "spark.sluice.codec.level", "plain");
    assertSame(() -> rows(600_000).repartition(11, functions.col("h")).agg(functions.count("*"),
        functions.bit_xor(functions.xxhash64(functions.col("id"), functions.col("t")))));
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0, "nothing was spilled");
    assertTrue(spark.counter(Counter.CACHE_OUTPUTS) > 0);
  }

  @Test
  void unregisterShuffleFreesMemoryAndFiles() {
    start("spark.sluice.cache.hostLimit", "3m", "spark.sluice.codec.level", "plain");
    rows(60_000).repartition(5, functions.col("h")).agg(functions.max("t")).collectAsList();
    OutputCache cache = spark.manager().executorState().cache().orElseThrow();
    assertTrue(cache.usedBytes() > 0 && spark.counter(Counter.CACHE_MOVES) > 0);
    assertTrue(spark.manager().unregisterShuffle(0));
    assertTrue(spark.manager().unregisterShuffle(1));
    assertEquals(0, cache.usedBytes());
    assertEquals(0, links("shuffle_"));
    assertEquals(List.of(), ShuffleFiles.all());
  }

  /** Spark computes its outputs again, under the same id; they are files, because nothing says when they may go. */
  @Test
  void aShuffleThatWasRemovedCanBeReadAgain() {
    start("spark.task.maxFailures", "1", "spark.stage.maxConsecutiveAttempts", "1", LocalSpark.CLEANER, "true");
    JavaPairRDD<Integer, Integer> shuffled = JavaSparkContext.fromSparkContext(spark.session().sparkContext())
        .parallelize(List.of(1, 2, 3, 4, 5), 3).mapToPair(number -> new Tuple2<>(number, -number))
        .partitionBy(new HashPartitioner(2));
    List<Tuple2<Integer, Integer>> first = shuffled.collect();
    assertEquals(3, links("shuffle_"));
    shuffled.rdd().cleanShuffleDependencies(true);
    Await.until("the shuffle is removed", () -> ShuffleFiles.all().isEmpty());
    assertEquals(first, shuffled.collect());
    assertEquals(0, links("shuffle_"));
    assertEquals(3, spark.counter(Counter.CACHE_OUTPUTS));
  }

  @Test
  void sparksBlockMigrationFindsOutputsInMemory() throws IOException {
    start();
    rows(1_000).repartition(5, functions.col("h")).count();
    MigratableResolver resolver = spark.manager().shuffleBlockResolver();
    scala.collection.Iterator<ShuffleBlockInfo> stored = resolver.getStoredShuffles().iterator();
    int outputs = 0;
    while (stored.hasNext()) {
      var blocks = resolver.getMigrationBlocks(stored.next());
      assertEquals(2, blocks.size());
      var data = blocks.apply(0)._2();
      assertTrue(data.size() > 0);
      assertEquals(data.size(), data.nioByteBuffer().remaining());
      try (var stream = data.createInputStream()) {
        assertEquals(data.size(), stream.readAllBytes().length);
      }
      outputs++;
    }
    assertEquals(spark.counter(Counter.CACHE_OUTPUTS), outputs);
  }

  @Test
  void failedTasksFreeTheirMemory() {
    start("spark.task.maxFailures", "1", "spark.sluice.writer.batchBytes", "1m");
    assertThrows(Exception.class, () -> rows(50_000)
        .selectExpr("if(id = 33000, raise_error('on purpose'), id) as id", "h", "t").repartition(5, functions.col("h"))
        .collectAsList());
    OutputCache cache = spark.manager().executorState().cache().orElseThrow();
    spark.manager().unregisterShuffle(0);
    // The tasks beside the one that failed are killed, and end after the job.
    Await.until("all memory is free", () -> cache.usedBytes() == 0);
  }

  @ParameterizedTest
  @CsvSource({"spark.shuffle.sync"})
  void settingsThatForbidTheCacheMakeOutputsFiles(String key) {
    start(key, "true");
    assertSame(join(1_000));
    assertFalse(spark.manager().executorState().cache().isPresent());
    assertEquals(0, links("shuffle_"));
  }

  @Test
  void outputsOfSparksWritersAreFiles() {
    start("spark.sluice.records.enabled", "false");
    assertEquals(7, spark.session().sparkContext().range(0, 1000, 1, 3).toJavaRDD()
        .mapToPair(n -> new scala.Tuple2<>((Long) n % 7, n)).groupByKey(4).count());
    assertEquals(0, links("shuffle_"));
    assertTrue(spark.manager().executorState().cache().isPresent());
  }

  @Test
  void hostLocalDiskReadsAreDisabled() {
    start();
    assertEquals("false", spark.session().sparkContext().getConf().get("spark.shuffle.readHostLocalDisk"));
  }
}
