package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.fetch.ArrivalTrackingClient;
import io.sluice.spark.fetch.FetchLatencies;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.read.SparkFormatReader;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.spark.Dependency;
import org.apache.spark.HashPartitioner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.rdd.RDD;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Shuffles of Spark's own writers through Spark's fetch iterator: the map outputs are said to be on another executor,
 * blocks come one-sidedly from a transport in this process, or by Spark's block transfer from this process's server.
 */
@Timeout(180)
class OneSidedReadTest {
  private static final String ELSEWHERE = "99";
  private static final int PAIRS = 20_000;
  private static final int KEYS = 500;
  private static final int PARTITIONS = 5;
  private static LocalSpark spark;

  private final FakeBlockTransport transport = new FakeBlockTransport();
  private final Counters counters = new Counters();
  private TransportService service;
  /** Static, because closures are serialized: tasks run in this process and pass their work and results by these. */
  private static Consumer<TaskContext> work;
  private TempShuffleReadMetrics metrics;
  private long recordsRead;

  @BeforeAll
  static void startSpark() {
    spark = LocalSpark.start(Map.of(
        "spark.sluice.codec", "spark", "spark.shuffle.readHostLocalDisk", "false",
        "spark.shuffle.sort.bypassMergeThreshold", "2"));
  }

  @AfterAll
  static void stopSpark() {
    spark.close();
  }

  @BeforeEach
  void start() {
    service = new TransportService(transport, counters, 1_000_000_000L, 0, System::nanoTime, () -> 0);
    service.learn(new PeerUpdate(1, Map.of(ELSEWHERE, new byte[] {1}), List.of()));
    transport.onFetch = fetch -> serve(fetch, 0);
  }

  @AfterEach
  void nothingIsLeft() {
    service.close();
    assertEquals(0, transport.leases());
    assertEquals(List.of(), transport.misuses);
  }

  /** Reads blocks from the published files; every {@code missEvery}th block is not found. */
  private void serve(FakeBlockTransport.Fetch fetch, int missEvery) {
    for (int i = fetch.size() - 1; i >= 0; i--) {
      long[] b = fetch.blocks();
      int at = i * NativeTransport.BLOCK_LONGS;
      FakeBlockTransport.Published output = transport.published.get(b[at] + "/" + b[at + 1]);
      if (output == null || missEvery > 0 && b[at + 2] % missEvery == 0) {
        transport.fail(fetch, i, NativeTransport.NOT_FOUND);
      } else {
        long from = output.offsets()[(int) b[at + 2]];
        transport.deliver(fetch, i, read(output.dataFile(), from, (int) (output.offsets()[(int) b[at + 3]] - from)));
      }
    }
  }

  private static byte[] read(String path, long from, int bytes) {
    try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
      byte[] data = new byte[bytes];
      file.seek(from);
      file.readFully(data);
      return data;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static JavaPairRDD<Integer, Integer> pairs() {
    return new JavaSparkContext(spark.session().sparkContext())
        .parallelize(IntStream.range(0, PAIRS).boxed().toList(), 3).mapToPair(i -> new Tuple2<>(i * 7 % KEYS, i));
  }

  /** Runs the map stage, publishes its outputs and says that they are elsewhere. */
  private ShuffleDependency<Object, Object, Object> write(JavaPairRDD<?, ?> shuffled) {
    shuffled.count();
    ShuffleDependency<Object, Object, Object> dependency = shuffleOf(shuffled.rdd());
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    BlockManagerId here = SparkEnv.get().blockManager().blockManagerId();
    BlockManagerId elsewhere = BlockManagerId.apply(ELSEWHERE, here.host(), here.port(), Option.empty());
    for (long mapId : mapIds(dependency)) {
      publish(dependency, mapId);
      tracker.updateMapOutput(dependency.shuffleId(), mapId, elsewhere);
    }
    return dependency;
  }

  @SuppressWarnings("unchecked")
  private static ShuffleDependency<Object, Object, Object> shuffleOf(RDD<?> rdd) {
    Dependency<?> first = (Dependency<?>) rdd.dependencies().head();
    return first instanceof ShuffleDependency<?, ?, ?> shuffle
        ? (ShuffleDependency<Object, Object, Object>) shuffle
        : shuffleOf(first.rdd());
  }

  private static List<Long> mapIds(ShuffleDependency<?, ?, ?> dependency) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    List<Long> ids = new ArrayList<>();
    for (var status : tracker.shuffleStatuses().apply(dependency.shuffleId()).mapStatuses()) {
      ids.add(status.mapId());
    }
    return ids;
  }

  /** With the lengths that the committed index has. */
  private void publish(ShuffleDependency<?, ?, ?> dependency, long mapId) {
    var resolver = spark.manager().shuffleBlockResolver();
    long[] lengths = new long[PARTITIONS];
    for (int partition = 0; partition < PARTITIONS; partition++) {
      lengths[partition] = resolver.getBlockData(
          new ShuffleBlockId(dependency.shuffleId(), mapId, partition), Option.empty()).size();
    }
    service.publisher().publish(
        dependency.shuffleId(), mapId, resolver.getDataFile(dependency.shuffleId(), mapId),
        resolver.getIndexFile(dependency.shuffleId(), mapId, Option.empty()), lengths);
  }

  private static void inTask(Consumer<TaskContext> body) {
    work = body;
    new JavaSparkContext(spark.session().sparkContext()).parallelize(List.of(1), 1)
        .foreach(one -> work.accept(TaskContext.get()));
  }

  private List<Tuple2<Object, Object>> readAll(ShuffleDependency<Object, Object, Object> dependency) {
    List<Tuple2<Object, Object>> records = new ArrayList<>();
    inTask(context -> {
      Iterator<Product2<Object, Object>> read = read(dependency, context);
      while (read.hasNext()) {
        Product2<Object, Object> record = read.next();
        records.add(new Tuple2<>(record._1(), record._2()));
      }
      recordsRead = context.taskMetrics().shuffleReadMetrics().recordsRead();
    });
    return records;
  }

  private Iterator<Product2<Object, Object>> read(
      ShuffleDependency<Object, Object, Object> dependency, TaskContext context) {
    metrics = context.taskMetrics().createTempShuffleReadMetrics();
    return new SparkFormatReader<>(dependency,
        new SparkFormatReader.Range(0, Integer.MAX_VALUE, 0, PARTITIONS), context, metrics,
        new ArrivalTrackingClient(service.client(SparkEnv.get().blockManager().blockStoreClient()),
            new FetchLatencies()),
        new ReadCounts(counters)).read();
  }

  private static List<String> sorted(List<? extends Tuple2<?, ?>> records) {
    return records.stream().map(Tuple2::toString).sorted().toList();
  }

  @Test
  void recordsAreReadOneSidedly() {
    JavaPairRDD<Integer, Integer> shuffled = pairs().partitionBy(new HashPartitioner(PARTITIONS));
    List<Tuple2<Object, Object>> records = readAll(write(shuffled));
    assertEquals(sorted(pairs().collect()), sorted(records));
    awaitOneSidedBlocks(3 * PARTITIONS);
    assertEquals(3 * PARTITIONS, metrics.remoteBlocksFetched());
    assertEquals(PAIRS, recordsRead);
    assertEquals(counters.get(Counter.TRANSPORT_BYTES), metrics.remoteBytesRead());
    assertCountedAsBySpark();
  }

  /** A block is counted after the task has got it. */
  private void awaitOneSidedBlocks(long blocks) {
    Await.until("blocks are counted", () -> counters.get(Counter.TRANSPORT_BLOCKS) == blocks
        && counters.get(Counter.TRANSPORT_BYTES) == counters.get(Counter.READ_ONE_SIDED_BYTES));
  }

  /** What a shuffle of Spark's format has in the tab Sluice. */
  private void assertCountedAsBySpark() {
    assertEquals(metrics.remoteBlocksFetched(), counters.get(Counter.READ_REMOTE_BLOCKS));
    assertEquals(metrics.remoteBytesRead(), counters.get(Counter.READ_REMOTE_BYTES));
    assertEquals(metrics.localBlocksFetched(), counters.get(Counter.READ_LOCAL_BLOCKS));
    assertEquals(metrics.localBytesRead(), counters.get(Counter.READ_LOCAL_BYTES));
    assertEquals(recordsRead, counters.get(Counter.READ_RECORDS));
    assertEquals(counters.get(Counter.READ_REMOTE_BLOCKS) > 0, counters.get(Counter.READ_FETCH_WAIT_NANOS) > 0);
  }

  @Test
  void blocksOfThisExecutorAreCountedAsLocal() {
    JavaPairRDD<Integer, Integer> shuffled = pairs().partitionBy(new HashPartitioner(PARTITIONS));
    shuffled.count();
    assertEquals(sorted(pairs().collect()), sorted(readAll(shuffleOf(shuffled.rdd()))));
    assertEquals(3 * PARTITIONS, counters.get(Counter.READ_LOCAL_BLOCKS));
    assertCountedAsBySpark();
  }

  @Test
  void missingBlocksComeByNetty() {
    transport.onFetch = fetch -> serve(fetch, 2);
    JavaPairRDD<Integer, Integer> shuffled = pairs().partitionBy(new HashPartitioner(PARTITIONS));
    assertEquals(sorted(pairs().collect()), sorted(readAll(write(shuffled))));
    awaitOneSidedBlocks(3 * 2);
    assertEquals(3 * 3, counters.get(Counter.TRANSPORT_NETTY_NOT_FOUND));
    assertCountedAsBySpark();
    assertTrue(counters.get(Counter.READ_ONE_SIDED_BYTES) < counters.get(Counter.READ_REMOTE_BYTES));
  }

  @Test
  void valuesAreCombined() {
    JavaPairRDD<Integer, Integer> sums = pairs().reduceByKey(Integer::sum, PARTITIONS);
    assertEquals(sorted(sums.collect()), sorted(readAll(write(sums))));
    assertTrue(counters.get(Counter.TRANSPORT_BLOCKS) > 0);
  }

  @Test
  void valuesAreGroupedWithoutMapSideCombine() {
    JavaPairRDD<Integer, Iterable<Integer>> groups = pairs().groupByKey(PARTITIONS);
    assertEquals(KEYS, readAll(write(groups)).size());
    assertTrue(counters.get(Counter.TRANSPORT_BLOCKS) > 0);
  }

  @Test
  void keysAreSorted() {
    JavaPairRDD<Integer, Integer> ordered = pairs().sortByKey(false, PARTITIONS);
    List<Tuple2<Object, Object>> records = readAll(write(ordered));
    assertEquals(sorted(pairs().collect()), sorted(records));
    List<Integer> keys = records.stream().map(record -> (Integer) record._1()).toList();
    assertEquals(keys.stream().sorted(Comparator.reverseOrder()).toList(), keys);
  }

  @Test
  void aTaskThatEndsEarlyFreesItsLeases() {
    ShuffleDependency<Object, Object, Object> dependency =
        write(pairs().partitionBy(new HashPartitioner(PARTITIONS)));
    inTask(context -> {
      Iterator<Product2<Object, Object>> read = read(dependency, context);
      assertTrue(read.hasNext());
      read.next();
      assertTrue(transport.leases() > 0);
    });
  }
}
