package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.SluiceException;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.memory.MemoryWait;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.TaskContext;

/**
 * Has one task's batches encoded: by an encoder thread when one is idle and few batches are under way, else by
 * the task's thread, which thus never waits idle. Used by the task's thread only.
 */
final class BatchEncoder {
  private static final int MAX_RUNNING = 2;
  private static final long POLL_MILLIS = 100;
  private static final long CLOSE_WAIT_MILLIS = 10_000;

  private final MapOutput output;
  private final TaskMemory memory;
  private final WorkerPool pool;
  private final TaskContext context;
  private final Counters counters;
  private final Deque<EncodeJob> running = new ArrayDeque<>();
  private long nextSequence;
  private long runningBytes;

  BatchEncoder(MapOutput output, TaskMemory memory, WorkerPool pool, TaskContext context, Counters counters) {
    this.output = output;
    this.memory = memory;
    this.pool = pool;
    this.context = context;
    this.counters = counters;
  }

  /** Takes over a full batch while the task has more rows to come. */
  void encode(PageBatch batch) throws IOException {
    settleFinished();
    if (running.size() >= MAX_RUNNING || !submit(batch)) {
      encodeHere(batch);
    }
  }

  private boolean submit(PageBatch batch) {
    output.open();
    EncodeJob job = new EncodeJob(output, batch, nextSequence);
    Future<Long> result = pool.trySubmit(job);
    if (result == null) {
      return false;
    }
    nextSequence++;
    job.setResult(result);
    running.add(job);
    runningBytes += batch.quotaBytes();
    counters.increment(Counter.WRITE_BATCHES_BY_POOL);
    return true;
  }

  /** Encodes a batch on this thread. */
  void encodeHere(PageBatch batch) throws IOException {
    output.open();
    counters.increment(Counter.WRITE_BATCHES_BY_TASK);
    encodeAndSettle(batch, nextSequence++);
  }

  /** The place of a run that is not encoded here, after all those before. */
  long takeSequence() {
    return nextSequence++;
  }

  private void encodeAndSettle(PageBatch batch, long sequence) throws IOException {
    boolean settled = false;
    try {
      long runBytes = encodeWhenThereIsRoom(batch, sequence);
      output.settle(batch, runBytes);
      settled = true;
    } finally {
      if (!settled) {
        batch.release(memory);
      }
    }
  }

  /**
   * The arena may refuse memory for a run even where the quota has room. Spilling this task's runs makes room; if there
   * are none, encodes of other tasks hold the memory, and they end.
   */
  private long encodeWhenThereIsRoom(PageBatch batch, long sequence) throws IOException {
    MemoryWait wait = null;
    while (true) {
      try {
        return output.encode(batch, sequence);
      } catch (NativeException e) {
        if (e.reason() != NativeCore.NO_MEMORY) {
          throw e;
        }
        settleAll();
        if (output.spill() == 0) {
          wait = wait == null ? memory.waitForArena("the encoded form of a batch") : wait;
          if (!wait.pause()) {
            counters.increment(Counter.MEMORY_TIMEOUTS);
            throw e;
          }
        }
      }
    }
  }

  /** Frees the pages of batches that encoder threads have finished, without waiting. */
  void settleFinished() throws IOException {
    while (!running.isEmpty() && running.peek().result().isDone()) {
      settle(running.poll());
    }
  }

  /** Waits for all running encodes; ends when the task is killed. */
  void settleAll() throws IOException {
    while (!running.isEmpty()) {
      await(running.peek().result());
      settle(running.poll());
    }
  }

  private void await(Future<Long> result) {
    while (!result.isDone()) {
      context.killTaskIfInterrupted();
      waitFor(result, POLL_MILLIS);
    }
  }

  private static void waitFor(Future<Long> result, long millis) {
    try {
      result.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      // The caller looks at the future's state next.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SluiceException("interrupted while an encoder thread finishes a batch", e);
    }
  }

  private void settle(EncodeJob job) throws IOException {
    runningBytes -= job.batch().quotaBytes();
    try {
      output.settle(job.batch(), job.result().get());
    } catch (ExecutionException e) {
      retryHere(job, e.getCause());
    } catch (InterruptedException e) {
      throw new IllegalStateException("a finished future does not wait", e);
    }
  }

  private void retryHere(EncodeJob job, Throwable failure) throws IOException {
    if (failure instanceof NativeException e && e.reason() == NativeCore.NO_MEMORY) {
      encodeAndSettle(job.batch(), job.sequence());
      return;
    }
    job.batch().release(memory);
    throw new SluiceException("an encoder thread failed: " + failure.getMessage(), failure);
  }

  /** The quota of the batches that encoder threads have. */
  long runningBytes() {
    return runningBytes;
  }

  /** After a failure: waits a while for running encodes and leaves the rest to their threads. Never throws. */
  void abandon() {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CLOSE_WAIT_MILLIS);
    for (EncodeJob job : running) {
      try {
        waitFor(job.result(), Math.max(0, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
      } catch (SluiceException interrupted) {
        deadline = System.nanoTime();
      }
      job.batch().detach(memory);
      if (job.abandon()) {
        counters.increment(Counter.WRITE_ENCODES_ABANDONED);
      } else {
        job.batch().closePages();
      }
    }
    running.clear();
    runningBytes = 0;
  }
}
