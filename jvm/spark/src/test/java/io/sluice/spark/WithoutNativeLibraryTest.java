package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** A process that cannot load the native library: its shuffles are Sluice's, in Java, with the results of stock. */
@Timeout(180)
class WithoutNativeLibraryTest {
  private LocalSpark spark;

  private void start(Map<String, String> settings) {
    Map<String, String> all = new HashMap<>(settings);
    all.put("spark.sluice.native.library", "/absent/libsluice_jni.so");
    spark = LocalSpark.start(all);
  }

  @AfterEach
  void stop() {
    Await.until("block memory is free", () -> leased() == 0);
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_LEASES));
    spark.close();
  }

  private long leased() {
    return spark.manager().executorState().memory().arena().leasedBytes();
  }

  private Dataset<Row> table(long rows) {
    return spark.session().range(0, rows, 1, 3).selectExpr("id", "id % 97 AS k", "repeat('word ', id % 9) AS text",
        "IF(id % 5 = 0, NULL, CAST(id AS DECIMAL(38, 10)) / 3) AS d", "array(id, NULL) AS a");
  }

  private void assertSame(Supplier<Dataset<Row>> query) {
    List<String> ours = sorted(spark.onSluice(query));
    assertEquals(sorted(spark.onStock(query)), ours);
    assertTrue(!ours.isEmpty());
  }

  private static List<String> sorted(List<Row> rows) {
    return rows.stream().map(Row::toString).sorted().collect(Collectors.toList());
  }

  @Test
  void queries() {
    start(Map.of());
    assertSame(() -> table(20_000).repartition(11));
    assertSame(() -> table(20_000).groupBy("k").agg(Map.of("d", "sum", "text", "max")).orderBy("k"));
    assertSame(() -> table(3_000).as("l").join(table(3_000).as("r"), "id").select("l.text", "r.a"));
    assertSame(() -> table(100).selectExpr("repeat(text, 20000) AS large").repartition(2));
    assertTrue(spark.counter(Counter.READ_FRAMES) > 0 && spark.counter(Counter.WRITE_MAP_OUTPUTS) > 0);
    ExecutorState state = spark.manager().executorState();
    for (ExecutorGauge gauge : ExecutorGauge.values()) {
      assertInstanceOf(Long.class, gauge.of(state), gauge::id);
    }
    assertTrue((Long) ExecutorGauge.ARENA_PEAK.of(state) > 0, "the arena's peak");
  }

  @Test
  void encoderAndDecoderThreads() {
    start(Map.of("spark.sluice.writer.threads", "2", "spark.sluice.reader.threads", "2",
        "spark.sluice.writer.batchBytes", "1m"));
    assertSame(() -> table(60_000).repartition(5));
    assertTrue(spark.counter(Counter.WRITE_BATCHES_BY_POOL) > 0);
  }

  @InAll
  @Test
  void littleMemorySpills() {
    start(Map.of("spark.sluice.memory.limit", "16m"));
    assertSame(() -> table(300_000).repartition(8));
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0);
  }

  @InAll
  @Test
  void sparksOffHeapMemory() {
    start(Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "16m"));
    assertSame(() -> table(300_000).repartition(8));
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0);
  }

  @Test
  void aCorruptFrameIsCountedAndItsMapOutputWrittenAgain() throws IOException {
    start(Map.of());
    JavaRDD<Row> rows = table(20_000).repartition(4).toJavaRDD();
    assertEquals(20_000, rows.count());
    assertEquals(0, spark.counter(Counter.READ_CORRUPT_FRAMES));
    Path data = ShuffleFiles.named("shuffle_").stream().filter(file -> file.toString().endsWith(".data")).findFirst()
        .orElseThrow();
    byte[] bytes = Files.readAllBytes(data);
    bytes[FrameHeader.BYTES + 9] ^= 4;
    Files.write(data, bytes);
    assertEquals(20_000, rows.count());
    assertTrue(spark.counter(Counter.READ_CORRUPT_FRAMES) > 0);
    assertTrue(spark.counter(Counter.READ_FETCH_FAILURES) > 0);
  }

  @Test
  void recordsOfRdds() {
    start(Map.of());
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.session().sparkContext());
    List<Integer> numbers = IntStream.range(0, 20_000).boxed().collect(Collectors.toCollection(ArrayList::new));
    Map<Integer, Integer> sums = context.parallelize(numbers, 3).mapToPair(n -> new Tuple2<>(n % 100, n))
        .reduceByKey(Integer::sum, 4).collectAsMap();
    assertEquals(100, sums.size());
    assertEquals(IntStream.range(0, 200).map(i -> 100 * i + 7).sum(), sums.get(7));
    List<Integer> order = context.parallelize(numbers, 3).mapToPair(n -> new Tuple2<>((n * 7919) % 20_000, "v" + n))
        .sortByKey(true, 4).keys().collect();
    assertEquals(numbers, order);
    // Values without a shape go through the serializer.
    assertEquals(20_000, context.parallelize(numbers, 3).mapToPair(n -> new Tuple2<>(n, List.of(n)))
        .groupByKey(4).mapValues(lists -> lists.iterator().next().get(0)).filter(pair -> pair._1().equals(pair._2()))
        .count());
    assertTrue(spark.counter(Counter.SHUFFLES_RECORDS) >= 3);
  }
}
