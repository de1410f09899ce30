package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.util.concurrent.Callable;
import org.apache.spark.TaskContext;
import org.junit.jupiter.api.Test;

import org.apache.spark.TaskContext$;

class DecodeJobTest {
  private static final TaskContext CONTEXT = TaskContext$.MODULE$.empty();

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
