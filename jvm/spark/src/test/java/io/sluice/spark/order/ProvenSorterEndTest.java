package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.ShuffleFiles;
import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.RowKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Product2;
import scala.collection.Iterator;

/** However a task with a sorter that guesses ends: no spill file stays open or on the disk, and no memory is leased. */
@Timeout(180)
class ProvenSorterEndTest {
  private static final int ROWS = 80_000;
  /** All rows and what sorting them takes are some 12 MB: two runs are spilled, and some rows stay in memory. */
  private static final long ROOM_FOR_A_PART = 5_000_000;
  private static final int SPILLED_RUNS = 2;
  private static final int SOME = 1000;
  private static final long WAIT_SECONDS = 60;
  private static LocalSpark spark;

  private final ExecutorService otherThread = Executors.newSingleThreadExecutor();

  @BeforeAll
  static void start() {
    // So that a reader takes 2 MiB: runs must be as large.
    spark = LocalSpark.start(Map.of("spark.unsafe.sorter.spill.read.ahead.enabled", "false"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @AfterEach
  void endThread() {
    otherThread.shutdownNow();
  }

  /** Natural order, which the sorter cannot know; tells how many comparisons there were before each. */
  private static Comparator<Integer> order(IntConsumer onCall) {
    int[] calls = new int[1];
    return (left, right) -> {
      onCall.accept(++calls[0]);
      return Integer.compare(left, right);
    };
  }

  /**
   * A sorter with all rows.
   *
   * @param onInsert called with the number of each row after it was inserted
   */
  private static ProvenSorter<Integer, Integer> filled(
      TaskContext context, Comparator<Integer> order, IntConsumer onInsert) {
    RecordEncoder encoder = new RecordEncoder();
    RowKey key = new RowKey();
    ProvenSorter<Integer, Integer> sorter = null;
    for (int i = 0; i < ROWS; i++) {
      assertTrue(encoder.encode(new Random(i).nextInt(), i));
      UnsafeRow row = new UnsafeRow(encoder.fields());
      row.pointTo(encoder.buffer(), encoder.length());
      key.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
      if (sorter == null) {
        sorter = new ProvenSorter<>(context, spark.manager().executorState().memory().of(context), ROOM_FOR_A_PART,
            order, OrderGuess.of(key).orElseThrow(), new Counters(), GpuPairSorter.NONE, () -> {});
      }
      assertTrue(sorter.insert(row, key));
      onInsert.accept(i);
    }
    assertEquals(SPILLED_RUNS, ShuffleFiles.named("temp_local_").size());
    return sorter;
  }

  /** Runs that are merged are open together, and their readers counted; runs that are given back are so one by one. */
  @Test
  void readersOfRunsTakeTheTasksMemory() {
    inTask(context -> {
      Iterator<?> records = sorted(context);
      assertEquals(SPILLED_RUNS * (SpilledRun.bufferBytes() + (1 << 20)), heapBytes(context));
      take(records, ROWS);
      assertEquals(SPILLED_RUNS << 20, heapBytes(context));
    });
    inTask(context -> {
      Iterator<?> records = filled(context).taken();
      for (int i = 0; i < ROWS; i++) {
        records.next();
        assertTrue(i % SOME > 0 || openSpillFiles().size() <= 1);
      }
      assertEquals(SpilledRun.bufferBytes() + (SPILLED_RUNS << 20), heapBytes(context));
    });
    assertNothingIsLeft();
  }

  private static long heapBytes(TaskContext context) {
    return context.taskMemoryManager().getMemoryConsumptionForThisTask();
  }

  private static ProvenSorter<Integer, Integer> filled(TaskContext context) {
    return filled(context, order(call -> {}), row -> {});
  }

  private static Iterator<Product2<Integer, Integer>> sorted(TaskContext context) {
    Iterator<Product2<Integer, Integer>> records = filled(context).sorted().orElseThrow();
    assertEquals(SPILLED_RUNS, openSpillFiles().size());
    return records;
  }

  /** Spill files of Spark's row sorter, deleted ones too, that this process has open. */
  private static List<String> openSpillFiles() {
    List<String> open = new ArrayList<>();
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      for (Path descriptor : descriptors.toList()) {
        try {
          open.add(Files.readSymbolicLink(descriptor).toString());
        } catch (NoSuchFileException closedMeanwhile) {
          // Another thread's.
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    open.removeIf(file -> !file.contains("temp_local_"));
    return open;
  }

  private static void inTask(Consumer<TaskContext> body) {
    InTask.run(spark, context -> {
      body.accept(context);
      return null;
    });
  }

  private static void assertNothingIsLeft() {
    assertEquals(List.of(), ShuffleFiles.named("temp_local_"));
    assertEquals(List.of(), openSpillFiles());
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_LEASES));
    Await.until("the budget is unused", () -> spark.manager().executorState().memory().budget().usedBytes() == 0);
  }

  private static void take(Iterator<?> records, int count) {
    for (int i = 0; i < count; i++) {
      records.next();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, SOME, ROWS - 1, ROWS})
  void consumersThatStopEarly(int taken) {
    inTask(context -> take(sorted(context), taken));
    assertNothingIsLeft();
  }

  @Test
  void tasksThatEndBeforeTheyReadTheResult() {
    inTask(context -> filled(context));
    assertNothingIsLeft();
  }

  /** Spark's sorter of objects takes over, and stops early. */
  @Test
  void recordsThatAreGivenBackAndNotAllTaken() {
    inTask(context -> take(filled(context).taken(), SOME));
    assertNothingIsLeft();
  }

  @Test
  void consumersThatFail() {
    Exception failure = assertThrows(Exception.class, () -> inTask(context -> {
      take(sorted(context), SOME);
      throw new IllegalStateException("not today");
    }));
    assertTrue(failure.toString().contains("not today"), failure::toString);
    assertNothingIsLeft();
  }

  /** Spark runs a task that was killed once more; that attempt does nothing. */
  private static void inTaskThatIsKilled(Consumer<TaskContext> body) {
    int[] attempts = new int[1];
    inTask(context -> {
      attempts[0]++;
      if (context.attemptNumber() == 0) {
        body.accept(context);
        throw new IllegalStateException("went on although it was killed");
      }
    });
    assertEquals(2, attempts[0]);
    assertNothingIsLeft();
  }

  private static void kill(TaskContext context) {
    spark.session().sparkContext().killTaskAttempt(context.taskAttemptId(), false, "a test");
    Await.until("the task is killed", context::isInterrupted);
  }

  @Test
  void tasksKilledWhileTheResultIsRead() {
    inTaskThatIsKilled(context -> {
      Iterator<?> records = sorted(context);
      take(records, SOME);
      kill(context);
      take(records, ROWS - SOME);
    });
  }

  @Test
  void tasksKilledWhileRowsAreInserted() {
    inTaskThatIsKilled(context -> filled(context, order(call -> {}), row -> {
      if (row == ROWS / 2) {
        kill(context);
      }
    }));
  }

  /** The last comparison comes after the last look at whether the task is killed, and before the run's file. */
  @Test
  void tasksKilledWhileARunIsWritten() {
    int[] comparisons = new int[1];
    int[] ofFirstRun = new int[1];
    inTask(context -> filled(context, order(call -> comparisons[0] = call),
        row -> ofFirstRun[0] = ofFirstRun[0] == 0 ? comparisons[0] : ofFirstRun[0]));
    inTaskThatIsKilled(context -> filled(context, order(call -> {
      if (call == ofFirstRun[0]) {
        kill(context);
      }
    }), row -> {}));
  }

  /** As PySpark's writer thread does. What the thread then gets is an error, never fewer records. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void consumersOnOtherThreadsThatGoOnAfterTheTask(boolean pauses) throws Exception {
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    List<Future<Integer>> consumer = new ArrayList<>();
    inTask(context -> {
      Iterator<Product2<Integer, Integer>> records = sorted(context);
      consumer.add(otherThread.submit(() -> {
        take(records, SOME);
        reached.countDown();
        assertTrue(!pauses || ended.await(WAIT_SECONDS, TimeUnit.SECONDS));
        int count = SOME;
        for (; records.hasNext(); count++) {
          records.next();
        }
        return count;
      }));
      await(reached);
    });
    if (pauses) {
      assertNothingIsLeft();
      ended.countDown();
      assertThrows(ExecutionException.class, () -> consumer.get(0).get(WAIT_SECONDS, TimeUnit.SECONDS));
    } else {
      assertEndsInAnErrorOrWithAll(consumer.get(0));
    }
    assertNothingIsLeft();
  }

  private static void assertEndsInAnErrorOrWithAll(Future<Integer> consumer) throws Exception {
    try {
      assertEquals(ROWS, consumer.get(WAIT_SECONDS, TimeUnit.SECONDS));
    } catch (ExecutionException e) {
      // The task ended first.
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(WAIT_SECONDS, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
