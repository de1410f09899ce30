package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.Lease;
import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.Await;
import io.sluice.spark.InAll;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.ShuffleFiles;
import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.store.DiskFault;
import io.sluice.spark.store.SpillFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The write path in real tasks: memory, spills, files, failures. */
@Timeout(180)
class SluiceShuffleWriterTest {
  @TempDir private Path folder;
  private LocalSpark spark;

  private void start(String... keysAndValues) {
    Map<String, String> settings = new HashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      settings.put(keysAndValues[i], keysAndValues[i + 1]);
    }
    spark = LocalSpark.start(settings);
  }

  @AfterEach
  void everythingIsGivenBack() {
    // After a failed job its other tasks may take a moment to end.
    Await.until("memory is given back", () -> spark.manager().executorState().memory().budget().usedBytes() == 0);
    Await.until("temporary files are gone", () -> ShuffleFiles.temporary().isEmpty());
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    spark.close();
    assertEquals(0, NativeCore.leasedBytes());
    assertEquals(0, NativeCore.checkArena());
  }

  private Dataset<Row> rows(long count) {
    return spark.session().range(0, count, 1, 3)
        .selectExpr("id", "xxhash64(id) as h", "concat('text ', md5(cast(id as string))) as t");
  }

  /** One row that depends on every field of every row, and not on their order. */
  private static Dataset<Row> digest(Dataset<Row> rows) {
    return rows.agg(functions.count("*"), functions.bit_xor(functions.xxhash64(
        functions.col("id"), functions.col("h"), functions.col("t"))));
  }

  private void assertSame(Supplier<Dataset<Row>> query) {
    assertEquals(sorted(spark.onStock(query)), sorted(spark.onSluice(query)));
  }

  private static List<String> sorted(List<Row> rows) {
    return rows.stream().map(Row::toString).sorted().collect(Collectors.toList());
  }

  @InAll
  @ParameterizedTest
  @ValueSource(strings = {"0", "2"})
  void spillsUnderATinyBudget(String threads) {
    start("spark.sluice.memory.limit", "16m", "spark.sluice.writer.threads", threads,
        "spark.sluice.codec.level", "plain");
    // Enough that each task has more than the budget, whether or not others run beside it.
    assertSame(() -> digest(rows(900_000).repartition(11, functions.col("h"))));
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0, "nothing was spilled");
    assertTrue(spark.counter(Counter.WRITE_SPILLED_BYTES) > 1_000_000);
  }

  @Test
  void usesSparksOffHeapMemoryWhenEnabled() {
    start("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "24m", "spark.sluice.codec.level",
        "plain");
    assertSame(() -> digest(rows(300_000).repartition(11, functions.col("h"))));
  }

  @Test
  void rowsAreEncodedByPoolThreadsAndTheTasksThread() {
    start("spark.sluice.writer.threads", "1", "spark.sluice.writer.batchBytes", "1m");
    assertSame(() -> digest(rows(100_000).repartition(20, functions.col("h"))));
    assertTrue(spark.counter(Counter.WRITE_BATCHES_BY_POOL) > 0);
    assertTrue(spark.counter(Counter.WRITE_BATCHES_BY_TASK) > 0);
    assertEquals(100_000, spark.counter(Counter.WRITE_RECORDS) - recordsOfTheAggregate());
  }

  /** Other tasks have filled the arena when the last batch is to be encoded, and free memory while the task waits. */
  @Test
  void encodingWaitsForFreeArenaMemory() {
    start("spark.sluice.writer.threads", "0");
    Dataset<Long> numbers = spark.session().range(0, 1_000, 1, 1).map((MapFunction<Long, Long>) id -> {
      if (id == 999) {
        fillArenaUntilSomebodyWaits();
      }
      return id;
    }, Encoders.LONG());
    List<Long> moved = new ArrayList<>(numbers.repartition(3).collectAsList());
    Collections.sort(moved);
    assertEquals(LongStream.range(0, 1_000).boxed().collect(Collectors.toList()), moved);
    assertEquals(1, spark.counter(Counter.MEMORY_WAITS));
    assertEquals(0, spark.counter(Counter.MEMORY_TIMEOUTS));
  }

  private static void fillArenaUntilSomebodyWaits() {
    List<Lease> all = new ArrayList<>();
    for (long bytes : new long[] {1 << 20, 64 << 10, 4 << 10, 64}) {
      for (Lease lease = Lease.tryTake(bytes); lease != null; lease = Lease.tryTake(bytes)) {
        all.add(lease);
      }
    }
    ExecutorState executor = ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).executorState();
    Thread others = new Thread(() -> {
      Await.until("the task waits", () -> executor.counters().get(Counter.MEMORY_WAITS) > 0);
      all.forEach(Lease::close);
    });
    others.setDaemon(true);
    others.start();
  }

  /** The aggregate above shuffles one row per partition. */
  private static long recordsOfTheAggregate() {
    return 20;
  }

  /** One map task: whatever thread encoded a batch and whatever was spilled, a partition's rows keep their order. */
  @Test
  void orderWithinAPartitionIsTheOrderOfWriting() {
    start("spark.sluice.writer.threads", "2", "spark.sluice.writer.batchBytes", "1m", "spark.sluice.memory.limit",
        "16m",
        "spark.sluice.codec.level", "plain");
    List<Row> partitions = spark.session().range(0, 400_000, 1, 1)
        .selectExpr("id", "xxhash64(id) as h", "uuid() as t").repartition(6, functions.col("h"))
        .selectExpr("spark_partition_id() as p", "id", "t", "monotonically_increasing_id() as place")
        .groupBy("p").agg(functions.expr("sort_array(collect_list(struct(place, id))).id as ids"), functions.max("t"))
        .collectAsList();
    assertEquals(6, partitions.size());
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0 && spark.counter(Counter.WRITE_BATCHES_BY_POOL) > 0,
        () -> spark.manager().counters().snapshot().toString());
    for (Row partition : partitions) {
      List<Long> ids = partition.getList(1);
      assertEquals(ids.stream().sorted().toList(), ids);
    }
  }

  @Test
  void rowsLargerThanAPageAndThanABatch() {
    start("spark.sluice.writer.pageBytes", "64k", "spark.sluice.writer.batchBytes", "1m");
    assertSame(() -> spark.session().range(0, 9, 1, 2)
        .selectExpr("id", "repeat(cast(id as string), cast(id * 500000 as int)) as t")
        .repartition(4, functions.col("id"))
        .selectExpr("id", "length(t)", "md5(t)"));
  }

  @Test
  void rowsOfZeroColumnsAreBatched() {
    start("spark.sluice.writer.batchBytes", "1m", "spark.sluice.writer.threads", "0");
    assertEquals(600_000,
        spark.session().range(0, 600_000, 1, 1).select().repartition(3).selectExpr("count(1)").first().getLong(0));
    assertTrue(spark.counter(Counter.WRITE_BATCHES_BY_TASK) > 4,
        () -> spark.manager().counters().snapshot().toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"ADLER32", "CRC32", "CRC32C"})
  void checksumFileEqualsSparks(String algorithm) throws IOException {
    start("spark.shuffle.checksum.algorithm", algorithm, "spark.shuffle.sync", "true");
    rows(10_000).repartition(5, functions.col("h")).count();
    List<Path> files = ShuffleFiles.named("shuffle_0_").stream().filter(f -> f.toString().endsWith(algorithm)).toList();
    assertEquals(3, files.size());
    for (Path file : files) {
      String stem = file.getFileName().toString().replace(".checksum." + algorithm, "");
      byte[] data = Files.readAllBytes(ShuffleFiles.named(stem + ".data").get(0));
      assertArrayEquals(checksums(algorithm, data, longs(ShuffleFiles.named(stem + ".index").get(0))), longs(file));
    }
  }

  private static long[] checksums(String algorithm, byte[] data, long[] offsets) {
    long[] values = new long[offsets.length - 1];
    for (int i = 0; i < values.length; i++) {
      java.util.zip.Checksum checksum = switch (algorithm) {
        case "ADLER32" -> new java.util.zip.Adler32();
        case "CRC32" -> new java.util.zip.CRC32();
        default -> new java.util.zip.CRC32C();
      };
      checksum.update(data, (int) offsets[i], (int) (offsets[i + 1] - offsets[i]));
      values[i] = checksum.getValue();
    }
    return values;
  }

  private static long[] longs(Path file) throws IOException {
    java.nio.LongBuffer longs = java.nio.ByteBuffer.wrap(Files.readAllBytes(file)).asLongBuffer();
    long[] values = new long[longs.remaining()];
    longs.get(values);
    return values;
  }

  @Test
  void noChecksumFileWhenSwitchedOff() {
    start("spark.shuffle.checksum.enabled", "false");
    rows(1_000).repartition(5, functions.col("h")).count();
    assertTrue(ShuffleFiles.named("shuffle_0_").stream().noneMatch(file -> file.toString().contains("checksum")));
  }

  @Test
  void mapTaskWithoutRowsWritesAnIndexOnlyAsStockDoes() {
    start();
    rows(1_000).where("id < 0").repartition(5, functions.col("h")).count();
    List<String> ours = extensions("shuffle_0_");
    spark.onStock(() -> rows(1_000).where("id < 0").repartition(5, functions.col("h")));
    // Shuffle 1 is the count's own; whatever is there beyond 0 and 1 is stock's.
    assertEquals(List.of("index", "index", "index"), ours);
    assertEquals(ours, extensions("shuffle_2_"));
    // Creates the executor's state, which the check after each test looks at.
    assertEquals(0, spark.manager().executorState().memory().budget().usedBytes());
  }

  private static List<String> extensions(String start) {
    return ShuffleFiles.named(start).stream().map(Path::toString)
        .map(name -> name.substring(name.lastIndexOf('.') + 1)).sorted().toList();
  }

  @Test
  void unregisteredShuffleLeavesNoFiles() {
    start();
    rows(1_000).repartition(5, functions.col("h")).count();
    assertFalse(ShuffleFiles.named("shuffle_0_").isEmpty());
    assertTrue(spark.manager().unregisterShuffle(0));
    assertEquals(List.of(), ShuffleFiles.named("shuffle_0_"));
  }

  @Test
  void anExceptionInTheInputFreesMemoryAndFiles() {
    start("spark.task.maxFailures", "1", "spark.sluice.writer.batchBytes", "1m", "spark.sluice.writer.threads", "2");
    assertThrows(Exception.class, () -> rows(100_000)
        .selectExpr("if(id = 33000, raise_error('on purpose'), id) as id", "h", "t").repartition(5, functions.col("h"))
        .collectAsList());
  }

  @Test
  void aKilledTaskFreesMemoryAndFiles() throws Exception {
    start("spark.sluice.writer.batchBytes", "1m", "spark.sluice.writer.threads", "2");
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.session().sparkContext());
    Thread query = new Thread(() -> {
      context.setJobGroup("to kill", "to kill", true);
      assertThrows(Exception.class, () -> slowRows().repartition(5, functions.col("value")).count());
    });
    query.start();
    Await.until("a batch is encoded",
        () -> spark.counter(Counter.WRITE_BATCHES_BY_POOL) + spark.counter(Counter.WRITE_BATCHES_BY_TASK) > 0);
    context.cancelJobGroup("to kill");
    query.join();
    Await.until("no stage runs", () -> spark.session().sparkContext().statusTracker().getActiveStageIds().length == 0);
  }

  /** Rows without end, so only the kill ends the task. */
  private Dataset<Row> slowRows() {
    return spark.session().range(0, Integer.MAX_VALUE, 1, 2)
        .map((MapFunction<Long, String>) id -> "row " + id, Encoders.STRING()).toDF("value");
  }

  @Test
  void taskMetricsEqualStocks() {
    start();
    Supplier<Dataset<Row>> query = () -> rows(50_000).repartition(9, functions.col("h"));
    Map<String, Long> ours = exchangeMetrics(query.get());
    spark.session().conf().set("spark.sluice.enabled", "false");
    Map<String, Long> stock = exchangeMetrics(query.get());
    assertEquals(stock.get("dataSize"), ours.get("dataSize"));
    assertEquals(stock.get("shuffleRecordsWritten"), ours.get("shuffleRecordsWritten"));
    assertEquals(50_000, ours.get("shuffleRecordsWritten"));
    assertEquals(spark.counter(Counter.WRITE_BLOCK_BYTES), ours.get("shuffleBytesWritten"));
    assertTrue(ours.get("shuffleBytesWritten") < stock.get("shuffleBytesWritten"), ours + " against " + stock);
    assertTrue(ours.get("shuffleWriteTime") > 0);
  }

  private static Map<String, Long> exchangeMetrics(Dataset<Row> query) {
    query.collectAsList();
    Map<String, Long> values = new HashMap<>();
    var metrics = query.queryExecution().executedPlan().metrics().iterator();
    while (metrics.hasNext()) {
      var metric = metrics.next();
      values.put(metric._1(), metric._2().value());
    }
    return values;
  }

  /** The driver's map statuses hold the value that Spark's own checksum objects give for the same rows. */
  @Test
  void rowBasedChecksumEqualsSparks() throws Exception {
    start("spark.sluice.writer.batchBytes", "1m", "spark.sluice.writer.threads", "1");
    assertEquals(rowChecksums(), rowChecksumsOnStock());
    assertTrue(spark.counter(Counter.WRITE_BATCHES_BY_POOL) > 0);
  }

  private List<Long> rowChecksumsOnStock() throws Exception {
    spark.session().conf().set("spark.sluice.enabled", "false");
    return rowChecksums();
  }

  private List<Long> rowChecksums() throws Exception {
    var plan = rows(60_000).repartition(7, functions.col("h")).queryExecution().executedPlan();
    var dependency = ((org.apache.spark.sql.execution.exchange.ShuffleExchangeExec) plan).shuffleDependency();
    scala.concurrent.Await.result(spark.session().sparkContext().submitMapStage(dependency),
        scala.concurrent.duration.Duration.Inf());
    var tracker = (org.apache.spark.MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    var statuses = tracker.shuffleStatuses().apply(dependency.shuffleId()).mapStatuses();
    for (var status : statuses) {
      // Spark reads them with a class loader that does not know the jars of --jars.
      assertTrue(status.getClass().getName().startsWith("org.apache.spark.scheduler."), status.getClass().getName());
    }
    List<Long> checksums = java.util.Arrays.stream(statuses).map(status -> status.checksumValue()).toList();
    assertFalse(checksums.contains(0L), "no row-based checksums: " + checksums);
    return checksums;
  }

  /** Adaptive execution must see sizes like stock's, though the files are smaller. */
  @Test
  void reportedSizesAreEstimatesOfStocksSizes() throws Exception {
    start();
    long ours = reportedBytes();
    long files = spark.counter(Counter.WRITE_BLOCK_BYTES);
    spark.session().conf().set("spark.sluice.enabled", "false");
    long stock = reportedBytes();
    assertTrue(files < 0.7 * stock, files + " bytes in files, stock " + stock);
    assertTrue(ours > 0.6 * stock && ours < 1.5 * stock, ours + " bytes reported, stock " + stock);
  }

  private long reportedBytes() throws Exception {
    var plan = spark.session().range(0, 200_000, 1, 2)
        .selectExpr("id", "id % 1000 as d", "concat('name_', id % 10000) as name").repartition(7, functions.col("id"))
        .queryExecution().executedPlan();
    var dependency = ((org.apache.spark.sql.execution.exchange.ShuffleExchangeExec) plan).shuffleDependency();
    var statistics = (org.apache.spark.MapOutputStatistics) scala.concurrent.Await.result(
        spark.session().sparkContext().submitMapStage(dependency), scala.concurrent.duration.Duration.Inf());
    return java.util.Arrays.stream(statistics.bytesByPartitionId()).sum();
  }

  /** With the old fetch protocol two attempts have one map id; the first that commits counts. */
  @Test
  void aSecondCommitOfAMapIdReportsTheFirstCommitsLengths() throws Exception {
    start();
    List<long[]> first = DirectWriter.write(rows(1_000).repartition(5, functions.col("h")), Integer.MAX_VALUE, true);
    List<long[]> again = DirectWriter.writeSame(10, true);
    assertArrayEquals(first.get(0), again.get(0));
    assertEquals(5, first.get(0).length);
    assertEquals(java.util.Arrays.stream(first.get(0)).sum(), DirectWriter.dataFile().length());
  }

  @Test
  void stopWithoutSuccessLeavesNoFile() throws Exception {
    start();
    assertEquals(List.of(), DirectWriter.write(rows(1_000).repartition(5, functions.col("h")), 100, false));
    assertFalse(DirectWriter.dataFile().exists());
  }

  @Test
  void fullLocalDirectoryMakesSpillsUseAnother() throws IOException {
    Path bad = folder.resolve("bad");
    Path good = folder.resolve("good");
    start("spark.local.dir", bad + "," + good, "spark.sluice.memory.limit", "16m", "spark.sluice.codec.level", "plain",
        "spark.sluice.writer.threads", "0");
    DiskFault fault = DiskFault.in(ShuffleFiles.directories().get(0));
    SpillFiles spills = new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), spark.manager().counters());
    long written = 0;
    for (int i = 0; i < 20; i++) {
      written += spills.write(fault::write);
    }
    assertEquals(20 * DiskFault.BYTES, written);
    assertEquals(20, ShuffleFiles.named("temp_shuffle_").size());
    assertEquals(1, spark.counter(Counter.WRITE_DIRECTORY_RETRIES));
    spills.deleteAll();
    spark.manager().executorState();
  }

  /** A file where the directory was: nothing can be made in it, whatever the message says. */
  @Test
  void aDeletedLocalDirectoryMakesSpillsUseAnother() throws IOException {
    start("spark.local.dir", folder.resolve("gone") + "," + folder.resolve("there"));
    Path gone = ShuffleFiles.directories().get(0);
    try (var files = Files.walk(gone)) {
      files.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
    Files.writeString(gone, "not a directory");
    SpillFiles spills = new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), spark.manager().counters());
    DiskFault sound = DiskFault.in();
    assertEquals(2 * DiskFault.BYTES, spills.write(sound::write) + spills.write(sound::write));
    assertEquals(1, spark.counter(Counter.WRITE_DIRECTORY_RETRIES));
    spills.deleteAll();
    Files.delete(gone);
    spark.manager().executorState();
  }

  @Test
  void whenAllLocalDirectoriesFailTheErrorNamesEach() {
    start("spark.local.dir", folder.resolve("one") + "," + folder.resolve("two"));
    DiskFault fault = DiskFault.in(ShuffleFiles.directories().toArray(Path[]::new));
    SpillFiles spills = new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), spark.manager().counters());
    String message = assertThrows(IOException.class, () -> spills.write(fault::write)).getMessage();
    for (Path directory : ShuffleFiles.directories()) {
      assertTrue(message.contains(directory.toString()), message);
    }
    assertTrue(message.contains("No space left"), message);
    spark.manager().executorState();
  }
}
