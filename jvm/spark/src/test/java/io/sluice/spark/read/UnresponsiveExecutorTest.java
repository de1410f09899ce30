package io.sluice.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.spark.Dependency;
import org.apache.spark.HashPartitioner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskKilled;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.Tuple2;

/**
 * Jobs that wait for a block of an executor that takes requests and never answers: Spark's client gives up after two
 * minutes, but tasks that are killed, or have read enough, end at once.
 */
@Timeout(180)
class UnresponsiveExecutorTest {
  private static final int RECORDS = 60_000;
  private static final int MAPS = 3;
  private static final int PARTITIONS = 2;
  private static final long LIMIT_SECONDS = 30;
  /** A killed task ends within this time. */
  private static final long END_NANOS = TimeUnit.SECONDS.toNanos(30);
  /** Static, because tasks of a local Spark share this class with the test. */
  private static final AtomicInteger SEEN = new AtomicInteger();

  private final ExecutorService background = Executors.newSingleThreadExecutor();
  private LocalSpark spark;
  private JavaSparkContext context;
  private ServerSocket silent;

  @BeforeEach
  void start() throws IOException {
    silent = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    SEEN.set(0);
  }

  @AfterEach
  void stop() throws IOException {
    background.shutdownNow();
    silent.close();
    spark.close();
  }

  private void startSpark(int readerThreads) {
    spark = LocalSpark.start(Map.of("spark.shuffle.readHostLocalDisk", "false",
        "spark.sluice.reader.threads", Integer.toString(readerThreads)));
    context = new JavaSparkContext(spark.session().sparkContext());
  }

  /** A shuffle whose first map output is at the silent executor. */
  private JavaPairRDD<Integer, String> shuffled() {
    JavaPairRDD<Integer, String> records = context
        .parallelize(IntStream.range(0, RECORDS).boxed().toList(), MAPS)
        .mapToPair(n -> new Tuple2<>(n, "a record with the number " + n)).partitionBy(new HashPartitioner(PARTITIONS));
    assertEquals(RECORDS, records.count());
    int shuffle = shuffleOf(records.rdd());
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    long firstMap = tracker.shuffleStatuses().apply(shuffle).mapStatuses()[0].mapId();
    tracker.updateMapOutput(shuffle, firstMap,
        BlockManagerId.apply("99", "127.0.0.1", silent.getLocalPort(), Option.empty()));
    return records;
  }

  private static int shuffleOf(RDD<?> rdd) {
    Dependency<?> first = (Dependency<?>) rdd.dependencies().head();
    return first instanceof ShuffleDependency<?, ?, ?> shuffle ? shuffle.shuffleId() : shuffleOf(first.rdd());
  }

  private void assertNothingIsHeld() {
    Await.until("all tasks have ended",
        () -> context.statusTracker().getActiveStageIds().length == 0 && SparkEnv.get().memoryManager()
            .executionMemoryUsed() == 0);
    Await.until("the budget is unused", () -> spark.manager().executorState().memory().budget().usedBytes() == 0);
    Await.until("no bytes are in flight", () -> spark.manager().executorState().readAheadBytes().usedBytes() == 0);
    Await.until("the native memory is free", () -> NativeCore.leasedBytes() == 0);
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    assertEquals(0, spark.counter(Counter.READ_FETCH_FAILURES));
  }

  /** Kills without an interrupt, as Spark does by default. */
  private void killAfterAllArrivedRowsWereRead(JavaRDD<?> reading) throws Exception {
    Future<?> doomed = background.submit(() -> {
      context.setJobGroup("to be killed", "a test", false);
      reading.count();
    });
    Await.until("the local records are read", () -> SEEN.get() == RECORDS / MAPS * (MAPS - 1));
    CountDownLatch ended = new CountDownLatch(1);
    context.sc().addSparkListener(new SparkListener() {
      @Override
      public void onTaskEnd(SparkListenerTaskEnd task) {
        if (task.reason() instanceof TaskKilled) {
          ended.countDown();
        }
      }
    });
    long killed = System.nanoTime();
    context.cancelJobGroup("to be killed");
    ExecutionException failure =
        assertThrows(ExecutionException.class, () -> doomed.get(LIMIT_SECONDS, TimeUnit.SECONDS));
    assertTrue(ended.await(Math.max(0, killed + END_NANOS - System.nanoTime()), TimeUnit.NANOSECONDS),
        "the killed task still runs");
    assertTrue(failure.getMessage().contains("cancelled"), failure::getMessage);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void aKilledTaskEndsWhileItsFetchHangs(int readerThreads) throws Exception {
    startSpark(readerThreads);
    killAfterAllArrivedRowsWereRead(shuffled().map(record -> SEEN.incrementAndGet()));
    assertNothingIsHeld();
    assertEquals(0, spark.counter(Counter.READ_LEFT_TO_CONSUMER));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void takeEndsWhileItsFetchHangs(int readerThreads) throws Exception {
    startSpark(readerThreads);
    JavaPairRDD<Integer, String> records = shuffled();
    assertEquals(1, background.submit(() -> records.take(1).size()).get(LIMIT_SECONDS, TimeUnit.SECONDS));
    assertNothingIsHeld();
  }

  /** The command's input is written by another thread than the task's: that one waits for the block. */
  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void takeEndsWhileAnotherThreadOfTheTaskWaitsForABlock(int readerThreads) throws Exception {
    startSpark(readerThreads);
    JavaRDD<String> piped = shuffled().map(record -> record._2())
        .pipe(List.of("sh", "-c", "echo begun; cat > /dev/null"));
    Future<Integer> taken = background.submit(() -> piped.mapPartitions(lines -> {
      String line = lines.next();
      Await.until("its reader waits for the block", UnresponsiveExecutorTest::isWaiting);
      return List.of(line).iterator();
    }).take(1).size());
    assertEquals(1, taken.get(2 * LIMIT_SECONDS, TimeUnit.SECONDS));
    assertNothingIsHeld();
    Await.until("the reading thread has ended", () -> !isWaiting());
  }

  @Test
  void aKilledTaskEndsWhileAnotherThreadOfTheTaskWaitsForABlock() throws Exception {
    startSpark(2);
    killAfterAllArrivedRowsWereRead(shuffled().map(record -> {
      SEEN.incrementAndGet();
      return record._2();
    }).pipe("cat"));
    assertNothingIsHeld();
    Await.until("the reading threads have ended", () -> !isWaiting());
  }

  /** Whether a thread that feeds a command waits for a block. */
  private static boolean isWaiting() {
    return Thread.getAllStackTraces().values().stream().anyMatch(frames -> {
      List<String> methods = List.of(frames).stream().map(f -> f.getClassName() + "." + f.getMethodName()).toList();
      return methods.stream().anyMatch(m -> m.contains("PipedRDD")) && methods.stream().anyMatch(m -> m.endsWith(
          "fetch.RemoteBlocks.next"));
    });
  }
}
