package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.FetchSettings;
import io.sluice.spark.compat.ScalaIterators;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.decode.BatchSource;
import io.sluice.spark.decode.FrameDecoder;
import io.sluice.spark.decode.FrameReader;
import io.sluice.spark.decode.InlineDecoder;
import io.sluice.spark.decode.PlainFrames;
import io.sluice.spark.decode.ReadAheadDecoder;
import io.sluice.spark.decode.ReadAheadLimit;
import io.sluice.spark.decode.ReaderMemory;
import io.sluice.spark.decode.RowIterator;
import io.sluice.spark.decode.TestMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.util.TaskCompletionListener;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;

import org.apache.spark.TaskContext$;

/** Readers of blocks of which only the first few ever arrive; memory is poisoned when it is freed. */
@Timeout(120)
class HangingFetchTest {
  private static final BlockManagerId ELSEWHERE = BlockManagerId.apply("99", "elsewhere", 7337, Option.empty());
  private static final int ROWS = 100;
  private static final int BLOCKS = 12;
  private static final long LIMIT_SECONDS = 30;
  /** A task that is killed, or has read enough, ends within this time. */
  private static final long END_SECONDS = 30;
  private static LocalSpark spark;

  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private final ReaderMemory reader = new ReaderMemory(memory, counters);
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final TempShuffleReadMetrics metrics = context.taskMetrics().createTempShuffleReadMetrics();
  private final ExecutorService consumer = Executors.newSingleThreadExecutor();
  private final WorkerPool pool = new WorkerPool("test-decoder", 4);
  private final ReadAheadLimit inFlight = new ReadAheadLimit(1 << 30);
  private FrameDecoder decoder = PlainFrames.DECODER;
  private RemoteBlocks blocks;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.shuffle.readHostLocalDisk", "false"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @AfterEach
  void nothingIsLeft() {
    consumer.shutdownNow();
    pool.close();
    assertEquals(0, inFlight.usedBytes());
    memory.close();
  }

  /** Answers for the first blocks that it is asked for, each of one frame; never for the others. */
  private static final class StoppingClient extends BlockStoreClient {
    private int left;

    StoppingClient(int answers) {
      this.left = answers;
    }

    @Override
    public void fetchBlocks(String host, int port, String execId, String[] ids, BlockFetchingListener listener,
        DownloadFileManager files) {
      for (int i = 0; i < ids.length && left > 0; i++) {
        left--;
        long map = new ShuffleBlock(BlockId.apply(ids[i]), ELSEWHERE, 0).mapId();
        byte[] block = PlainFrames.frame(map * ROWS, ROWS);
        listener.onBlockFetchSuccess(ids[i], new NioManagedBuffer(ByteBuffer.wrap(block)));
      }
    }

    @Override
    public void close() {}
  }

  private BatchSource batches(int arriving, boolean allByClient, boolean readAhead) {
    scala.collection.immutable.List<Object> wanted = ScalaIterators.<Object>of(wanted().iterator()).toList();
    BlockPlan plan = new BlockPlan(
        ScalaIterators.of(List.<Tuple2<BlockManagerId, ?>>of(new Tuple2<>(ELSEWHERE, wanted)).iterator()),
        address -> false, TransferSize.AS_REPORTED, false, false);
    ReadCounts counts = new ReadCounts(counters);
    blocks = new RemoteFetch(context, SparkEnv.get().blockManager(), SparkEnv.get().mapOutputTracker(),
        new ArrivalTrackingClient(new StoppingClient(arriving), new FetchLatencies()),
        FetchSettings.of(SparkEnv.get().conf()), metrics, false)
        .start(plan, allByClient, null, counts);
    FrameReader frames = new FrameReader(blocks, reader);
    return readAhead
        ? new ReadAheadDecoder(frames, decoder, reader, context, pool, inFlight, counts, 4, 0)
        : new InlineDecoder(frames, decoder, reader, counts);
  }

  private static List<Object> wanted() {
    List<Object> wanted = new ArrayList<>();
    for (int map = 0; map < BLOCKS; map++) {
      wanted.add(new Tuple3<>(new ShuffleBlockId(3, map, 5), 1000L, map));
    }
    return wanted;
  }

  private RowIterator rows(BatchSource batches, boolean insideTask) {
    RowIterator rows = new RowIterator(
        batches, reader, context, metrics, new FetchFailures(counters), () -> insideTask,
        RowIterator.Batches.NONE);
    context.addTaskCompletionListener((TaskCompletionListener) done -> {
      rows.close();
      assertEquals(0, memory.inAccount(), "the task's account frees what is left in it, whoever reads it");
    });
    return rows;
  }

  private static long sum(RowIterator rows) {
    long sum = 0;
    while (rows.hasNext()) {
      sum += rows.next()._2().getLong(0);
    }
    return sum;
  }

  private void endTask() throws Exception {
    ExecutorService listeners = Executors.newSingleThreadExecutor();
    try {
      listeners.submit(() -> context.markTaskCompleted(Option.empty())).get(END_SECONDS, TimeUnit.SECONDS);
    } finally {
      listeners.shutdownNow();
    }
  }

  private static Throwable causeOf(Future<?> failing) {
    return assertThrows(ExecutionException.class, () -> failing.get(LIMIT_SECONDS, TimeUnit.SECONDS)).getCause();
  }

  private void awaitWaitingForBlock(Future<?> reading) {
    Await.until("the consumer waits for a block", () -> metrics.remoteBlocksFetched() == 3 && memory.live() > 0
        && Thread.getAllStackTraces().values().stream().anyMatch(HangingFetchTest::waits));
    assertFalse(reading.isDone());
  }

  private static boolean waits(StackTraceElement[] frames) {
    return frames.length > 0 && frames[0].getMethodName().matches("wait0?|park")
        && List.of(frames).stream().anyMatch(frame -> frame.getClassName().endsWith("fetch.RemoteBlocks"));
  }

  /** Each block is one frame, so reading ahead means going from block to block. */
  @Test
  void onlyArrivedBlocksAreDecodedAhead() {
    int arriving = 6;
    CountDownLatch fourAtOnce = new CountDownLatch(4);
    CountDownLatch goOn = new CountDownLatch(1);
    Thread task = Thread.currentThread();
    decoder = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      if (Thread.currentThread() != task) {
        fourAtOnce.countDown();
        await(goOn);
      }
      return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
    };
    RowIterator rows = rows(batches(arriving, true, true), true);
    assertEquals(0, rows.next()._2().getLong(0));
    await(fourAtOnce);
    goOn.countDown();
    for (long i = 1; i < (long) arriving * ROWS; i++) {
      assertEquals(i, rows.next()._2().getLong(0));
    }
    assertEquals(arriving, metrics.remoteBlocksFetched());
    context.markTaskCompleted(Option.empty());
    assertTrue(counters.get(Counter.READ_FRAMES_BY_POOL) >= 4);
  }

  /** Spark's iterator may fetch a block again, and wait for it, when it checks blocks itself. */
  @Test
  void withSparksCorruptionCheckNoBlockIsDecodedAhead() throws Exception {
    for (boolean checks : new boolean[] {false, true}) {
      FetchedStreams streams = new FetchedStreams(metrics, checks);
      ArrivedBlocks arrived = new ArrivedBlocks();
      RemoteBlocks remote = new RemoteBlocks(
          new RemoteBlocks.FetchedBlocks(ScalaIterators.of(List.<Tuple2<BlockId, InputStream>>of().iterator()), streams,
              arrived, true),
          context, null, null, new ReadCounts(counters));
      assertFalse(remote.nextHasArrived());
      arrived.arriving("shuffle_3_1_5", null);
      assertFalse(remote.nextHasArrived(), "it is not in Spark's queue yet");
      arrived.arrived();
      assertEquals(!checks, remote.nextHasArrived());
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(LIMIT_SECONDS, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aKilledTaskEndsWithoutAnInterrupt(boolean readAhead) throws Exception {
    RowIterator rows = rows(batches(3, true, readAhead), true);
    Future<?> reading = consumer.submit(() -> sum(rows));
    awaitWaitingForBlock(reading);
    context.markInterrupted("enough");
    assertInstanceOf(TaskKilledException.class,
        assertThrows(ExecutionException.class, () -> reading.get(END_SECONDS, TimeUnit.SECONDS)).getCause());
    assertEquals(0, memory.live());
    context.markTaskCompleted(Option.empty());
    assertEquals(0, counters.get(Counter.READ_LEFT_TO_CONSUMER));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTaskThatStopsEarlyEnds(boolean readAhead) throws Exception {
    RowIterator rows = rows(batches(3, true, readAhead), true);
    UnsafeRow row = rows.next()._2();
    assertEquals(0, row.getLong(0));
    endTask();
    assertEquals(0, row.getLong(0), "the row was kept");
    Await.until("decoding threads have ended", () -> memory.live() == 0);
    assertEquals(1, metrics.recordsRead());
  }

  /** The consumer is neither killed nor interrupted: it must notice by itself that the task has ended. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTaskEndsWhileAnotherThreadWaitsForABlock(boolean readAhead) throws Exception {
    RowIterator rows = rows(batches(3, true, readAhead), false);
    Future<?> reading = consumer.submit(() -> sum(rows));
    awaitWaitingForBlock(reading);
    endTask();
    assertInstanceOf(SluiceException.class, causeOf(reading));
    assertEquals(0, memory.live());
    assertEquals(0, counters.get(Counter.READ_FETCH_FAILURES));
    assertThrows(SluiceException.class, rows::hasNext);
  }

  /**
   * As with blocks that Spark opens as files of this host: {@code PipedRDD} interrupts its thread when the task ends.
   */
  @Test
  void aTaskEndsWhileAnotherThreadWaitsInSparksIterator() throws Exception {
    RowIterator rows = rows(batches(3, false, true), false);
    CountDownLatch started = new CountDownLatch(1);
    Future<?> reading = consumer.submit(() -> {
      started.countDown();
      return sum(rows);
    });
    assertTrue(started.await(LIMIT_SECONDS, TimeUnit.SECONDS));
    awaitWaitingForBlock(reading);
    endTask();
    assertTrue(memory.live() > 0, "the consumer frees it");
    assertEquals(1, counters.get(Counter.READ_LEFT_TO_CONSUMER));
    consumer.shutdownNow();
    assertInstanceOf(SluiceException.class, causeOf(reading));
    assertEquals(0, memory.live());
  }

  /** The memory into which the consumer decodes when the task ends is freed only after the decode. */
  @Test
  void aTaskEndsWhileAnotherThreadDecodes() throws Exception {
    CountDownLatch decoding = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    decoder = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      decoding.countDown();
      await(goOn);
      return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
    };
    RowIterator rows = rows(batches(3, true, false), false);
    Future<?> reading = consumer.submit(() -> sum(rows));
    assertTrue(decoding.await(LIMIT_SECONDS, TimeUnit.SECONDS));
    endTask();
    assertTrue(memory.live() > 0, "the consumer frees it");
    assertEquals(1, counters.get(Counter.READ_LEFT_TO_CONSUMER));
    goOn.countDown();
    assertInstanceOf(SluiceException.class, causeOf(reading));
    assertEquals(0, memory.live());
  }

  /** The wait is the task's fetch wait time, wherever it happens. */
  @Test
  void theTimeUntilABlockArrivesIsFetchWaitTime() throws Exception {
    RowIterator rows = rows(batches(3, true, false), true);
    Future<?> reading = consumer.submit(() -> sum(rows));
    awaitWaitingForBlock(reading);
    TimeUnit.MILLISECONDS.sleep(5);
    context.markInterrupted("enough");
    causeOf(reading);
    assertTrue(metrics.fetchWaitTime() > 0);
    context.markTaskCompleted(Option.empty());
  }
}
