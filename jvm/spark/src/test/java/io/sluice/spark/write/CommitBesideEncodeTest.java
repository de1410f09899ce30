package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.Lease;
import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.ShuffleFiles;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.ThreadCpuClock;
import io.sluice.spark.store.SpillFiles;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.functions;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;

/** The last batch of a map task is encoded by a pool thread while the task's thread writes the first partitions. */
// A thread of its own ends with each test, and with it the scratch memory of its native encoder.
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class CommitBesideEncodeTest {
  private static final int PARTITIONS = 8;
  private static final int ROWS = 60_000;
  private static final int ROW_BYTES = 32;
  private static final long WORK_NANOS = 20_000_000;
  private static final long COMMIT_BYTES = 64 << 20;

  @TempDir private Path folder;
  private LocalSpark spark;
  private final WorkerPool pool = new WorkerPool("test-encoder", 1);
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();

  @AfterEach
  void everythingIsGivenBack() {
    pool.close();
    context.markTaskCompleted(Option.empty());
    Await.until("memory is given back", () -> NativeCore.leasedBytes() == 0
        || spark.manager().executorState().memory().budget().usedBytes() == 0);
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    spark.close();
    Await.until("nothing is leased", () -> NativeCore.leasedBytes() == 0);
    assertEquals(0, NativeCore.checkArena());
  }

  /**
   * The files of the first shuffle by their names' end, which says map, partition and kind.
   *
   * @param commitNanos what an earlier commit of {@code commitBytes} took
   */
  private Map<String, byte[]> filesOfAQuery(String threads, int maps, long commitBytes, long commitNanos)
      throws IOException {
    spark = LocalSpark.start(Map.of("spark.sluice.writer.threads", threads, "spark.sluice.writer.batchBytes", "64m",
        "spark.shuffle.checksum.algorithm", "CRC32C"));
    spark.manager().executorState().commitSpeed().wrote(commitBytes, commitNanos);
    assertEquals(200_000, spark.session().range(0, 200_000, 1, maps)
        .selectExpr("id", "xxhash64(id) as h", "md5(cast(id as string)) as t").repartition(201, functions.col("h"))
        .count());
    Map<String, byte[]> files = new TreeMap<>();
    for (Path file : ShuffleFiles.named("shuffle_0_")) {
      files.put(file.getFileName().toString(), Files.readAllBytes(file));
    }
    return files;
  }

  @Test
  void dataIndexAndChecksumsAreThoseOfACommitAtOnce() throws IOException {
    Map<String, byte[]> atOnce = filesOfAQuery("0", 2, COMMIT_BYTES, 10 * COMMIT_BYTES);
    assertEquals(0, spark.counter(Counter.WRITE_COMMITS_BESIDE));
    spark.close();
    Map<String, byte[]> beside = filesOfAQuery("2", 2, COMMIT_BYTES, 10 * COMMIT_BYTES);
    assertTrue(spark.counter(Counter.WRITE_COMMITS_BESIDE) > 0, () -> spark.manager().counters().snapshot().toString());
    assertEquals(atOnce.keySet(), beside.keySet());
    assertEquals(6, beside.size(), "data, index and checksums of two map tasks");
    atOnce.forEach((name, bytes) -> assertArrayEquals(bytes, beside.get(name), name));
  }

  @Test
  void whereWritesAreFastTheLastBatchIsCommittedAtOnce() throws IOException {
    filesOfAQuery("2", 1, COMMIT_BYTES, COMMIT_BYTES / 10);
    assertEquals(0, spark.counter(Counter.WRITE_COMMITS_BESIDE));
  }

  /** Runs of the native core; a test may hold up or fail calls. */
  private final class Hooks extends DelegatingRuns {
    private Runnable beforeWholeEncode = () -> {};
    private Runnable beforeEncode = () -> {};
    private Runnable afterEncode = () -> {};
    private int writesUntilFailure = Integer.MAX_VALUE;

    Hooks(Runs runs) {
      super(runs);
    }

    @Override
    public long encode(long sequence, int fields, long[] pages) {
      beforeWholeEncode.run();
      return super.encode(sequence, fields, pages);
    }

    @Override
    public PartCommit partCommit() {
      PartCommit parts = super.partCommit();
      return new PartCommit() {
        @Override
        public void encodeUntil(long sequence, int fields, long[] pages, int until) {
          beforeEncode.run();
          parts.encodeUntil(sequence, fields, pages, until);
          afterEncode.run();
        }

        @Override
        public void begin(File file, int algorithm) throws IOException {
          parts.begin(file, algorithm);
        }

        @Override
        public void write(int until) throws IOException {
          if (writesUntilFailure-- == 0) {
            throw new IOException("on purpose");
          }
          parts.write(until);
        }

        @Override
        public long end(long[] lengths, long[] checksums) {
          return parts.end(lengths, checksums);
        }

        @Override
        public void abort() {
          parts.abort();
        }
      };
    }
  }

  private Hooks hooks;
  private MapOutput output;
  private TaskMemory memory;
  private BatchEncoder encoder;
  private final long[] lengths = new long[PARTITIONS];
  private final long[] checksums = new long[PARTITIONS];

  private void openEncoder() {
    spark = LocalSpark.start(Map.of());
    ExecutorState executor = spark.manager().executorState();
    memory = executor.memory().of(context);
    hooks = new Hooks(new NativeRuns(PARTITIONS, executor.settings().blocks(), false, null));
    SpillFiles spills = new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), executor.counters());
    output = new MapOutput(
        () -> hooks, PARTITIONS, false, null, executor.settings().blocks(), memory, spills, executor.counters());
    encoder = new BatchEncoder(output, memory, pool, context, executor.counters());
  }

  /** Rows of four words, in all partitions. */
  private PageBatch batch() {
    PageBatch batch = new PageBatch(3);
    Lease lease = memory.tryLeaseForRows(4 << 20, 0);
    PageWriter page = batch.addPage(lease, 0);
    byte[] row = new byte[ROW_BYTES];
    for (int i = 0; i < ROWS; i++) {
      Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET + 8, i * 0x9E3779B97F4A7C15L);
      Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET + 16, i);
      assertTrue(page.append(i % PARTITIONS, row, Platform.BYTE_ARRAY_OFFSET, ROW_BYTES));
    }
    return batch;
  }

  private void commitBeside(PageBatch last) throws IOException {
    File file = folder.resolve("data").toFile();
    assertTrue(encoder.canCommitBeside(last, PARTITIONS));
    long total = encoder.commitBeside(last, PARTITIONS, file, lengths, checksums);
    assertEquals(total, file.length());
    for (long length : lengths) {
      assertTrue(length > 0);
    }
  }

  @Test
  void theLastBatchIsEncodedWhileThisThreadWrites() throws IOException {
    openEncoder();
    commitBeside(batch());
    assertEquals(1, spark.counter(Counter.WRITE_COMMITS_BESIDE));
    assertEquals(1, spark.counter(Counter.WRITE_BATCHES_BY_POOL));
    output.close();
    assertEquals(0, memory.heldBytes());
  }

  @Test
  void onlyWhatThisThreadEncodesIsItsCpuTime() throws IOException {
    openEncoder();
    hooks.beforeWholeEncode = () -> {
      long end = ThreadCpuClock.nanos() + WORK_NANOS;
      while (ThreadCpuClock.nanos() < end) {
        Thread.onSpinWait();
      }
    };
    encoder.encode(batch());
    encoder.settleAll();
    assertEquals(1, spark.counter(Counter.WRITE_BATCHES_BY_POOL));
    assertEquals(0, spark.counter(Counter.WRITE_ENCODE_BY_TASK_CPU_NANOS));
    encoder.encodeHere(batch());
    assertTrue(spark.counter(Counter.WRITE_ENCODE_BY_TASK_CPU_NANOS) >= WORK_NANOS);
    assertEquals(spark.counter(Counter.WRITE_ENCODE_BY_TASK_CPU_NANOS), output.encodeByTaskCpuNanos());
    output.close();
    assertEquals(0, memory.heldBytes());
  }

  /** This thread encodes the last batch itself, in place of waiting for the one before it. */
  @Test
  void whileABatchBeforeItIsEncodedTheLastOneIsNotCommittedInParts() throws Exception {
    openEncoder();
    CountDownLatch goOn = new CountDownLatch(1);
    hooks.beforeWholeEncode = () -> await(goOn);
    encoder.encode(batch());
    PageBatch last = batch();
    assertFalse(encoder.canCommitBeside(last, PARTITIONS));
    goOn.countDown();
    encoder.settleAll();
    commitBeside(last);
    output.close();
    assertEquals(0, memory.heldBytes());
  }

  /** The part that follows is under way when the disk fails; its pages are freed when it has ended, and not before. */
  @Test
  void pagesAreNotFreedBeforeTheEncodeEndsAfterADiskHasFailed() throws Exception {
    openEncoder();
    CountDownLatch goOn = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    hooks.writesUntilFailure = 1;
    PageBatch last = batch();
    List<Integer> encodes = new ArrayList<>();
    hooks.beforeEncode = () -> {
      encodes.add(1);
      if (encodes.size() == 3) {
        await(goOn);
      }
    };
    hooks.afterEncode = () -> {
      if (encodes.size() == 3) {
        ended.countDown();
      }
    };
    assertTrue(assertThrows(IOException.class, () -> commitBeside(last)).getMessage().contains("on purpose"));
    // An interrupted task gives up waiting at once.
    Thread.currentThread().interrupt();
    encoder.abandon();
    assertTrue(Thread.interrupted());
    assertEquals(0, memory.heldBytes(), "the task's account is empty");
    assertTrue(NativeCore.leasedBytes() >= 4 << 20, "the pages are still there");
    goOn.countDown();
    assertTrue(ended.await(30, TimeUnit.SECONDS));
    output.close();
    Await.until("the encoder thread has freed the pages", () -> NativeCore.leasedBytes() == 0);
  }

  @Test
  void aFailureOfTheDiskWithNothingUnderWayFreesThePages() {
    openEncoder();
    hooks.writesUntilFailure = 3;
    assertThrows(IOException.class, () -> commitBeside(batch()));
    encoder.abandon();
    output.close();
    assertEquals(0, memory.heldBytes());
  }

  @Test
  void aKilledTaskDoesNotWaitForThePart() throws Exception {
    openEncoder();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    hooks.beforeEncode = () -> {
      begun.countDown();
      await(goOn);
    };
    PageBatch last = batch();
    Thread killer = new Thread(() -> {
      await(begun);
      context.markInterrupted("no longer wanted");
    });
    killer.start();
    assertThrows(TaskKilledException.class, () -> commitBeside(last));
    goOn.countDown();
    encoder.abandon();
    output.close();
    killer.join();
    assertEquals(0, memory.heldBytes());
  }

  /** The arena has nothing when the second part is encoded: the batch is encoded as others are, and nothing is lost. */
  @Test
  void whereTheArenaRefusesAPartTheCommitIsAtOnce() throws IOException {
    openEncoder();
    List<Lease> others = new ArrayList<>();
    int[] encodes = {0};
    hooks.beforeEncode = () -> {
      if (++encodes[0] == 2) {
        for (long bytes : new long[] {1 << 20, 64 << 10, 4 << 10, 64}) {
          for (Lease lease = Lease.tryTake(bytes); lease != null; lease = Lease.tryTake(bytes)) {
            others.add(lease);
          }
        }
      }
    };
    Thread later = new Thread(() -> {
      Await.until("the task waits or has spilled", () -> spark.counter(Counter.MEMORY_WAITS) > 0);
      others.forEach(Lease::close);
    });
    later.setDaemon(true);
    later.start();
    commitBeside(batch());
    assertEquals(0, spark.counter(Counter.WRITE_COMMITS_BESIDE));
    assertEquals(1, spark.counter(Counter.WRITE_BATCHES_BY_TASK));
    assertTrue(spark.counter(Counter.WRITE_ENCODES_REFUSED) > 0);
    output.close();
    assertFalse(later.isAlive() && others.isEmpty());
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
