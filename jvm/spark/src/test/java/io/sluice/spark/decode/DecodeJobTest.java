package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.metrics.ThreadCpuClock;
import java.util.concurrent.Callable;
import org.apache.spark.TaskContext;
import org.junit.jupiter.api.Test;

import org.apache.spark.TaskContext$;

class DecodeJobTest {
  private static final TaskContext CONTEXT = TaskContext$.MODULE$.empty();
  private static final long WORK_NANOS = 20_000_000;

  /** Takes that much of a core before it decodes. */
  private static final FrameDecoder WORKING = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
    long end = ThreadCpuClock.nanos() + WORK_NANOS;
    while (ThreadCpuClock.nanos() < end) {
      Thread.onSpinWait();
    }
    return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, keys);
  };

  @Test
  void onlyWhatTheTasksThreadDecodesIsItsCpuTime() throws Exception {
    TestMemory memory = new TestMemory();
    Counters counters = new Counters();
    ReadCounts counts = new ReadCounts(counters);
    DecodeJob job = new DecodeJob(WORKING);
    try (FrameReader frames = new FrameReader(TestBlocks.of(PlainFrames.block(0, 2, 100)), memory)) {
      assertTrue(frames.next() && job.tryLoad(frames, memory));
      job.poolTask().call();
      job.finish(CONTEXT, counts);
      job.recycle();
      counts.flush();
      assertEquals(0, counters.get(Counter.READ_DECODE_BY_TASK_CPU_NANOS));
      assertTrue(counters.get(Counter.READ_DECODE_NANOS) >= WORK_NANOS);
      assertTrue(frames.next() && job.tryLoad(frames, memory));
      job.finish(CONTEXT, counts);
    }
    job.close();
    counts.flush();
    long cpuNanos = counters.get(Counter.READ_DECODE_BY_TASK_CPU_NANOS);
    assertTrue(cpuNanos >= WORK_NANOS, () -> cpuNanos + " ns");
    memory.close();
  }

  /**
   * A pool thread may come to its task only when the consumer has decoded the frames itself and loads the job again:
   * it must not decode those, to which the consumer still appends.
   */
  @Test
  void aPoolTaskThatComesLateDoesNotTouchOtherFrames() throws Exception {
    TestMemory memory = new TestMemory();
    Counters counters = new Counters();
    ReadCounts counts = new ReadCounts(counters);
    DecodeJob job = new DecodeJob(PlainFrames.DECODER);
    try (FrameReader frames = new FrameReader(TestBlocks.of(PlainFrames.block(0, 4, 100)), memory)) {
      assertTrue(frames.next() && job.tryLoad(frames, memory));
      Callable<Void> late = job.poolTask();
      assertEquals(100, job.finish(CONTEXT, counts).rows());
      job.recycle();
      assertTrue(frames.next() && job.tryLoad(frames, memory));
      late.call();
      assertTrue(frames.next() && job.tryAppend(frames));
      late.call();
      assertEquals(200, job.finish(CONTEXT, counts).rows());
      job.recycle();
      assertTrue(frames.next() && job.tryLoad(frames, memory));
      job.poolTask().call();
      assertEquals(100, job.finish(CONTEXT, counts).rows());
    }
    job.close();
    counts.flush();
    assertEquals(3, counters.get(Counter.READ_FRAMES_BY_TASK));
    assertEquals(1, counters.get(Counter.READ_FRAMES_BY_POOL));
    assertEquals(0, memory.live());
    memory.close();
  }
}
