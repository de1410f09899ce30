package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.compat.FetchSettings;
import io.sluice.spark.compat.ScalaIterators;
import io.sluice.spark.decode.FrameDecoder;
import io.sluice.spark.decode.FrameReader;
import io.sluice.spark.decode.InlineDecoder;
import io.sluice.spark.decode.PlainFrames;
import io.sluice.spark.decode.ReaderMemory;
import io.sluice.spark.decode.RowIterator;
import io.sluice.spark.decode.TestMemory;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.rdd.RDD;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterable;
import scala.collection.Iterator;

import org.apache.spark.TaskContext$;

/**
 * Real map outputs through Spark's real fetch iterator and its network transport: this process serves its own
 * blocks, under the name of another executor.
 */
// A thread of its own ends with each test, and with it the scratch memory of its native decoder.
@Timeout(value = 180, threadMode = ThreadMode.SEPARATE_THREAD)
class RemoteReadTest {
  private static final int ROWS = 40_000;
  private static final int PARTITIONS = 4;
  private static LocalSpark spark;

  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final TempShuffleReadMetrics metrics = context.taskMetrics().createTempShuffleReadMetrics();
  /** What the shuffle has given: as long as somebody has it, Spark's cleaner leaves the shuffle's files. */
  private RDD<InternalRow> rows;
  private BlockManagerId elsewhere;
  private int shuffleId;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.shuffle.readHostLocalDisk", "false"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @AfterEach
  void finishTask() {
    context.markTaskCompleted(Option.empty());
    memory.close();
  }

  /** Runs a map stage of three tasks. */
  private void writeShuffle() {
    rows = spark.session().range(0, ROWS, 1, 3).selectExpr("id", "concat('n', id % 77) as name")
        .repartition(PARTITIONS, functions.col("id")).queryExecution().toRdd();
    assertEquals(ROWS, rows.count());
    shuffleId = shuffleOf(rows).shuffleId();
    BlockManagerId here = SparkEnv.get().blockManager().blockManagerId();
    elsewhere = BlockManagerId.apply("99", here.host(), here.port(), Option.empty());
  }

  private static ShuffleDependency<?, ?, ?> shuffleOf(RDD<?> rdd) {
    Iterator<Dependency<?>> dependencies = dependenciesOf(rdd);
    Dependency<?> first = dependencies.next();
    return first instanceof ShuffleDependency<?, ?, ?> shuffle ? shuffle : shuffleOf(first.rdd());
  }

  @SuppressWarnings("unchecked")
  private static Iterator<Dependency<?>> dependenciesOf(RDD<?> rdd) {
    return (Iterator<Dependency<?>>) (Iterator<?>) rdd.dependencies().iterator();
  }

  private RowIterator read(int start, int end, boolean batch, Map<String, String> conf) {
    SparkConf sparkConf = SparkEnv.get().conf().clone();
    conf.forEach(sparkConf::set);
    FetchSettings settings = FetchSettings.of(sparkConf);
    List<Tuple2<BlockManagerId, ?>> moved = new ArrayList<>();
    Iterator<?> mapSizes = SparkEnv.get().mapOutputTracker()
        .getMapSizesByExecutorId(shuffleId, 0, Integer.MAX_VALUE, start, end);
    while (mapSizes.hasNext()) {
      moved.add(new Tuple2<>(elsewhere, ((Tuple2<?, ?>) mapSizes.next())._2()));
    }
    BlockPlan plan = new BlockPlan(
        ScalaIterators.of(moved.iterator()), address -> false, TransferSize.AS_REPORTED, batch, false);
    ReadCounts counts = new ReadCounts(counters);
    RemoteBlocks blocks = new RemoteFetch(context, SparkEnv.get().blockManager(), SparkEnv.get().mapOutputTracker(),
        new ArrivalTrackingClient(SparkEnv.get().blockManager().blockStoreClient(), new FetchLatencies()),
        settings, metrics, batch)
        .start(plan, true, null, counts);
    ReaderMemory reader = new ReaderMemory(memory, counters);
    return new RowIterator(
        new InlineDecoder(new FrameReader(blocks, reader), FrameDecoder.NATIVE, reader, counts),
        reader, context, metrics, new FetchFailures(counters), () -> true,
        RowIterator.Batches.NONE);
  }

  private static List<Long> ids(RowIterator rows) {
    List<Long> ids = new ArrayList<>();
    while (rows.hasNext()) {
      ids.add(rows.next()._2().getLong(0));
    }
    return ids.stream().sorted().collect(Collectors.toList());
  }

  /** Changes a byte of a map's block on disk and gives the block's id. */
  private ShuffleBlockId damage(int map, int partition, long at) throws IOException {
    Iterator<?> mapSizes = SparkEnv.get().mapOutputTracker()
        .getMapSizesByExecutorId(shuffleId, map, map + 1, partition, partition + 1);
    Tuple2<?, ?> addressed = (Tuple2<?, ?>) mapSizes.next();
    Object block = ((Iterable<?>) addressed._2()).iterator().next();
    ShuffleBlockId id = (ShuffleBlockId) ((Tuple3<?, ?, ?>) block)._1();
    FileSegmentManagedBuffer data =
        (FileSegmentManagedBuffer) SparkEnv.get().blockManager().getLocalBlockData(id);
    File file = data.getFile();
    try (RandomAccessFile bytes = new RandomAccessFile(file, "rw")) {
      bytes.seek(data.getOffset() + at);
      int old = bytes.read();
      bytes.seek(data.getOffset() + at);
      bytes.write(old ^ 1);
    }
    return id;
  }

  @Test
  void remoteRowsArriveAsOneBlockPerMapAndPartition() {
    writeShuffle();
    assertEquals(PlainFrames.range(0, ROWS), ids(read(0, PARTITIONS, false, Map.of())));
    assertEquals(3 * PARTITIONS, metrics.remoteBlocksFetched());
    assertEquals(0, metrics.localBlocksFetched());
    assertEquals(ROWS, context.taskMetrics().shuffleReadMetrics().recordsRead());
  }

  @Test
  void consecutivePartitionsAreFetchedAsOneBatch() {
    writeShuffle();
    assertEquals(PlainFrames.range(0, ROWS), ids(read(0, PARTITIONS, true, Map.of())));
    assertEquals(3, metrics.remoteBlocksFetched());
  }

  @Test
  void blocksFetchedToDiskAreDecoded() {
    writeShuffle();
    assertEquals(PlainFrames.range(0, ROWS),
        ids(read(0, PARTITIONS, false, Map.of("spark.network.maxRemoteBlockSizeFetchToMem", "1k"))));
    assertTrue(metrics.remoteBytesReadToDisk() > 0);
  }

  @Test
  void theOldFetchProtocolGivesTheSameRows() {
    writeShuffle();
    assertEquals(PlainFrames.range(0, ROWS),
        ids(read(0, PARTITIONS, false, Map.of("spark.shuffle.useOldFetchProtocol", "true"))));
  }

  @Test
  void aCorruptBlockIsDiagnosedBySparkAndReported() throws IOException {
    writeShuffle();
    ShuffleBlockId damaged = damage(1, 2, 50);
    FetchFailedException failure = (FetchFailedException) assertThrows(
        Exception.class, () -> ids(read(2, 3, false, Map.of())));
    String reason = failure.toTaskFailedReason().toErrorString();
    assertTrue(reason.startsWith("FetchFailed(" + elsewhere + ", shuffleId=" + shuffleId + ", mapIndex=1, mapId="
        + damaged.mapId() + ", reduceId=2, message="), reason);
    assertTrue(failure.getMessage().contains("block " + damaged + " of map index 1"), failure::getMessage);
    assertTrue(failure.getMessage().contains("at byte 0: "), failure::getMessage);
    assertTrue(failure.getMessage().contains("corrupted due to DISK_ISSUE"), failure::getMessage);
    assertInstanceOf(CorruptFrameException.class, failure.getCause());
  }

  /** With the setting for it, Spark reads the block's beginning before we do, and fetches a bad one again. */
  @Test
  void withExtraMemoryACorruptBlockIsFetchedTwiceBeforeItFails() throws IOException {
    writeShuffle();
    damage(1, 2, 50);
    Map<String, String> extra = Map.of("spark.shuffle.detectCorrupt.useExtraMemory", "true");
    FetchFailedException failure = (FetchFailedException) assertThrows(
        Exception.class, () -> ids(read(2, 3, false, extra)));
    assertTrue(failure.getMessage().contains("corrupted due to DISK_ISSUE"), failure::getMessage);
    assertEquals(4, metrics.remoteBlocksFetched(), "three blocks, one of them twice");
    assertEquals(ROWS / PARTITIONS, ids(read(0, 1, false, extra)).size(), ROWS / 20.0);
  }
}
