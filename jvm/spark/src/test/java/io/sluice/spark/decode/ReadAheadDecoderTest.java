package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.SluiceException;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Option;

import org.apache.spark.TaskContext$;

@Timeout(60)
class ReadAheadDecoderTest {
  private static final long PLENTY = 1 << 30;

  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final Thread consumer = Thread.currentThread();
  private WorkerPool pool = new WorkerPool("test-decoder", 3);
  private ReadAheadLimit inFlight = new ReadAheadLimit(PLENTY);

  @AfterEach
  void everythingIsBack() {
    pool.close();
    assertEquals(0, inFlight.usedBytes());
    // A pool thread that still decoded at the close frees what it had when it ends.
    Await.until("decoding threads have ended", () -> memory.live() == 0);
    memory.close();
  }

  private ReadAheadDecoder batches(TestBlocks blocks, FrameDecoder decoder) {
    return batches(blocks, decoder, 0);
  }

  private static TestBlocks manyBlocks() {
    TestBlocks blocks = new TestBlocks(Integer.MAX_VALUE, true);
    for (int i = 0; i < 20; i++) {
      blocks.add(PlainFrames.block(i * 1000L, 10, 100));
    }
    return blocks;
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "1, 1", "3, 1", "3, 1000", "3, 1073741824"})
  void batchesComeInFrameOrderWhicheverThreadDecodes(int threads, long inFlightBytes) throws Exception {
    pool = new WorkerPool("test-decoder", threads);
    inFlight = new ReadAheadLimit(inFlightBytes);
    Random random = new Random(7);
    FrameDecoder uneven = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      int spins;
      synchronized (random) {
        spins = random.nextInt(20_000);
      }
      for (int i = 0; i < spins; i++) {
        Thread.onSpinWait();
      }
      return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
    };
    try (ReadAheadDecoder batches = batches(manyBlocks(), uneven)) {
      assertEquals(PlainFrames.range(0, 20_000), PlainFrames.values(batches));
    }
    assertEquals(200, counters.get(Counter.READ_FRAMES));
    assertEquals(200, counters.get(Counter.READ_FRAMES_BY_POOL) + counters.get(Counter.READ_FRAMES_BY_TASK));
  }

  @Test
  void poolThreadsDecodeFrames() throws Exception {
    CountDownLatch byPool = new CountDownLatch(1);
    try (ReadAheadDecoder batches = batches(manyBlocks(), taskWaitsFor(byPool))) {
      assertEquals(PlainFrames.range(0, 20_000), PlainFrames.values(batches));
    }
    assertTrue(counters.get(Counter.READ_FRAMES_BY_POOL) > 0);
  }

  @Test
  void withoutMemoryToReadAheadFramesAreDecodedOneByOne() throws Exception {
    memory.refuse(true);
    try (ReadAheadDecoder batches = batches(manyBlocks(), PlainFrames.DECODER)) {
      assertEquals(PlainFrames.range(0, 20_000), PlainFrames.values(batches));
      assertTrue(memory.waits() > 0);
    }
    assertEquals(200, counters.get(Counter.READ_FRAMES_BY_TASK));
  }

  @Test
  void aDecodeErrorIsThrownOnlyAfterTheBatchesBeforeIt() throws Exception {
    byte[] bad = PlainFrames.block(500, 5, 100);
    bad[bad.length / 5 * 3 + 40] ^= 1;
    try (ReadAheadDecoder batches = batches(TestBlocks.of(PlainFrames.block(0, 5, 100), bad), PlainFrames.DECODER)) {
      for (int i = 0; i < 8; i++) {
        assertEquals(100, next(batches).rows());
      }
      BlockReadException failure = assertThrows(BlockReadException.class, () -> next(batches));
      assertEquals(TestBlocks.block(1), failure.block());
      assertEquals(bad.length / 5 * 3, failure.offset());
    }
  }

  @Test
  void anInvalidHeaderIsThrownOnlyAfterTheBatchesBeforeIt() throws Exception {
    byte[] bad = PlainFrames.block(0, 3, 100);
    bad[bad.length / 3 * 2] ^= 1;
    try (ReadAheadDecoder batches = batches(TestBlocks.of(bad), PlainFrames.DECODER)) {
      assertEquals(100, next(batches).rows());
      assertEquals(100, next(batches).rows());
      BlockReadException failure = assertThrows(BlockReadException.class, () -> next(batches));
      assertEquals(bad.length / 3 * 2, failure.offset());
    }
  }

  @Test
  void anUnexpectedExceptionOfTheDecoderIsNoFetchFailure() throws Exception {
    FrameDecoder broken = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      throw new IllegalStateException("bug");
    };
    try (ReadAheadDecoder batches = batches(manyBlocks(), broken)) {
      SluiceException failure = assertThrows(SluiceException.class, () -> next(batches));
      assertTrue(failure.getMessage().contains("shuffle_3_100_5"), failure::getMessage);
    }
  }

  /** Closing does not wait for a decode that runs, and does not free the memory that it uses. */
  @Test
  void afterCloseThePoolThreadFreesTheFrameThatItDecodes() throws Exception {
    CountDownLatch begun = new CountDownLatch(2);
    CountDownLatch goOn = new CountDownLatch(1);
    CountDownLatch written = new CountDownLatch(2);
    FrameDecoder slow = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      if (Thread.currentThread() != consumer) {
        begun.countDown();
        await(goOn);
        PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
        written.countDown();
      }
      return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
    };
    pool = new WorkerPool("test-decoder", 2);
    ReadAheadDecoder batches = batches(manyBlocks(), slow);
    assertEquals(100, next(batches).rows());
    await(begun);
    batches.close();
    assertEquals(0, inFlight.usedBytes());
    assertEquals(4, memory.live(), "two jobs that run, with two pieces each");
    goOn.countDown();
    await(written);
    while (memory.live() > 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aKilledTaskDoesNotWaitForADecode() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    FrameDecoder slow = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      if (Thread.currentThread() != consumer) {
        begun.countDown();
        await(goOn);
      }
      return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
    };
    pool = new WorkerPool("test-decoder", 1);
    ReadAheadDecoder batches = batches(manyBlocks(), slow);
    next(batches);
    await(begun);
    context.markInterrupted("no longer wanted");
    assertThrows(TaskKilledException.class, () -> next(batches));
    batches.close();
    goOn.countDown();
    while (memory.live() > 0) {
      Thread.onSpinWait();
    }
  }

  private ReadAheadDecoder batches(TestBlocks blocks, FrameDecoder decoder, long minPoolBytes) {
    return new ReadAheadDecoder(new FrameReader(blocks, memory), decoder, memory, context, pool, inFlight,
        new ReadCounts(counters), 4, minPoolBytes);
  }

  @Test
  void framesThatAreTooSmallEvenTogetherAreDecodedByTheTasksThread() throws Exception {
    TestBlocks blocks = TestBlocks.of(PlainFrames.block(0, 3, 100));
    try (ReadAheadDecoder batches = batches(blocks, PlainFrames.DECODER, 1_000_000)) {
      assertEquals(PlainFrames.range(0, 300), PlainFrames.values(batches));
    }
    assertEquals(3, counters.get(Counter.READ_FRAMES_BY_TASK));
  }

  /** 20 blocks of ten frames of 1,600 bytes of rows: a job has ten, of two blocks if the first one was read alone. */
  @Test
  void smallFramesOfSeveralBlocksAreGivenToAPoolThreadTogether() throws Exception {
    CountDownLatch byPool = new CountDownLatch(15);
    try (ReadAheadDecoder batches = batches(manyBlocks(), taskWaitsFor(byPool), 16_000)) {
      assertEquals(PlainFrames.range(0, 20_000), PlainFrames.values(batches));
    }
    assertEquals(200, counters.get(Counter.READ_FRAMES));
    assertTrue(counters.get(Counter.READ_FRAMES_BY_POOL) >= 15);
  }

  /** As a shuffle of many partitions has them: a job has one block (of 1,600 bytes of rows), or ten. */
  @ParameterizedTest
  @CsvSource({"0", "16000"})
  void blocksOfOneFrameEachAreDecodedByThePoolAsTheyArrive(long minPoolBytes) throws Exception {
    CountDownLatch byPool = new CountDownLatch(3);
    long[] consumed = new long[2];
    TestBlocks blocks = new TestBlocks(Integer.MAX_VALUE, true).arrived(50, () -> consumed[1] = consumed[0]);
    for (int i = 0; i < 100; i++) {
      blocks.add(PlainFrames.block(i * 100L, 1, 100));
    }
    try (ReadAheadDecoder batches = batches(blocks, taskWaitsFor(byPool), minPoolBytes)) {
      while (batches.hasNext()) {
        consumed[0] += batches.next().rows();
      }
    }
    assertEquals(10_000, consumed[0]);
    assertEquals(5_000, consumed[1], "the task waited for a block when it had used all that had arrived");
    assertEquals(100, counters.get(Counter.READ_FRAMES));
    assertTrue(counters.get(Counter.READ_FRAMES_BY_POOL) >= 3);
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "1, 1", "3, 1", "3, 100000", "3, 1073741824"})
  void rowsOfSmallFramesComeInOrderWhicheverThreadDecodesThem(int threads, long inFlightBytes) throws Exception {
    pool = new WorkerPool("test-decoder", threads);
    inFlight = new ReadAheadLimit(inFlightBytes);
    try (ReadAheadDecoder batches = batches(manyBlocks(), PlainFrames.DECODER, 5_000)) {
      assertEquals(PlainFrames.range(0, 20_000), PlainFrames.values(batches));
    }
    assertEquals(200, counters.get(Counter.READ_FRAMES));
  }

  @Test
  void anErrorInASmallFrameIsThrownAfterTheRowsOfThoseBeforeIt() throws Exception {
    byte[] bad = PlainFrames.block(500, 5, 100);
    bad[bad.length / 5 * 3 + 40] ^= 1;
    TestBlocks blocks = TestBlocks.of(PlainFrames.block(0, 5, 100), bad);
    try (ReadAheadDecoder batches = batches(blocks, PlainFrames.DECODER, 1_000_000)) {
      long rows = 0;
      rows += next(batches).rows();
      rows += next(batches).rows();
      assertEquals(800, rows, "the first frame alone, then the seven that follow it");
      BlockReadException failure = assertThrows(BlockReadException.class, () -> next(batches));
      assertEquals(TestBlocks.block(1), failure.block());
      assertEquals(bad.length / 5 * 3, failure.offset());
    }
  }

  @Test
  void theReadAheadLimitIsSharedAndReleasedAsRowsAreConsumed() throws Exception {
    try (ReadAheadDecoder batches = batches(manyBlocks(), PlainFrames.DECODER)) {
      next(batches);
      long ahead = inFlight.usedBytes();
      assertTrue(ahead > 0);
      while (batches.hasNext()) {
        batches.next();
        assertFalse(inFlight.usedBytes() > 2 * ahead, "nothing is released");
      }
      assertTrue(inFlight.usedBytes() <= ahead, "only the last frame is left");
    }
  }

  /** Each frame is larger than the limit: one is ahead at a time, and only while nothing else is in flight. */
  @Test
  void aFrameLargerThanTheLimitIsDecodedAheadAlone() throws Exception {
    inFlight = new ReadAheadLimit(1);
    try (ReadAheadDecoder batches = batches(manyBlocks(), PlainFrames.DECODER)) {
      next(batches);
      long ofOneFrame = inFlight.usedBytes();
      assertTrue(ofOneFrame > 1, "none is ahead");
      while (batches.hasNext()) {
        batches.next();
        assertTrue(inFlight.usedBytes() <= ofOneFrame, "two are in flight");
      }
    }
    assertEquals(200, counters.get(Counter.READ_FRAMES));
  }

  @Test
  void aTaskHasOneLimitUntilItEnds() {
    ReadAheadLimits limits = new ReadAheadLimits(100);
    ReadAheadLimit ofTask = limits.of(context);
    assertSame(ofTask, limits.of(context), "of all readers of a task");
    assertTrue(ofTask.tryAcquire(70));
    assertFalse(ofTask.tryAcquire(31));
    assertTrue(ofTask.tryAcquire(30));
    assertEquals(100, limits.usedBytes());
    context.markTaskCompleted(Option.empty());
    assertEquals(0, limits.tasks());
    ofTask.release(70);
    assertEquals(30, limits.usedBytes(), "a reader that ends after its task gives back too");
    ofTask.release(30);
    assertEquals(0, limits.usedBytes());
    assertThrows(IllegalStateException.class, () -> ofTask.release(1));
  }

  /** The task's thread decodes nothing until pool threads have begun to decode as many frames as the latch counts. */
  private FrameDecoder taskWaitsFor(CountDownLatch byPool) {
    return (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      if (Thread.currentThread() != consumer) {
        byPool.countDown();
      } else {
        await(byPool);
      }
      return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
    };
  }

  private static DecodedBatch next(BatchSource batches) throws Exception {
    assertTrue(batches.hasNext());
    return batches.next();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(30, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
