package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.SluiceException;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.memory.MemoryWait;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.TaskContext;

/**
 * Has one task's batches encoded: when few are under way, by an encoder thread if one is idle, or else by the GPU if it
 * is faster; else by the task's thread, or by the GPU while that waits. Used by the task's thread only.
 *
 * <p>Batches of the GPU are encoded on the threads that wait for it, never on the task's: a driver that does not return
 * would hold up the task, and nobody could kill it.
 */
final class BatchEncoder {
  private static final int MAX_RUNNING = 2;
  private static final long POLL_MILLIS = 100;
  private static final long CLOSE_WAIT_MILLIS = 10_000;
  /**
   * A GPU that was given up declines all that its threads ask for next; a call that has not ended by then does not end.
   */
  private static final long LOST_GPU_WAIT_MILLIS = 5_000;
  /** Of a batch that is committed while it is encoded; each costs two passes over the batch's entries. */
  private static final int PARTS = 4;
  /** Below that the encode of a batch is over before another thread has begun. */
  private static final long LEAST_BYTES_IN_PARTS = 1 << 20;

  private final MapOutput output;
  private final TaskMemory memory;
  private final WorkerPool pool;
  /** Null for none. */
  private final ExecutorGpu gpu;
  private final TaskContext context;
  private final Counters counters;
  private final Deque<EncodeJob> running = new ArrayDeque<>();
  private long nextSequence;
  private long runningBytes;
  private long besideNanos;

  BatchEncoder(MapOutput output, TaskMemory memory, WorkerPool pool, TaskContext context, Counters counters) {
    this(output, memory, pool, null, context, counters);
  }

  /** @param gpu null for none */
  BatchEncoder(MapOutput output, TaskMemory memory, WorkerPool pool, ExecutorGpu gpu, TaskContext context,
      Counters counters) {
    this.output = output;
    this.memory = memory;
    this.pool = pool;
    this.gpu = gpu;
    this.context = context;
    this.counters = counters;
  }

  /** Takes over a full batch while the task has more rows to come. */
  void encode(PageBatch batch) throws IOException {
    settleFinished();
    if (running.size() >= MAX_RUNNING) {
      encodeHere(batch);
    } else if (!submit(batch)) {
      encodeByTask(batch);
    }
  }

  private boolean submit(PageBatch batch) {
    output.open();
    boolean gpuFirst = gpu != null && gpu.isFirst();
    boolean begun = gpuFirst && startOnGpu(batch) != null;
    if (!begun) {
      EncodeJob job = new EncodeJob(output, batch, nextSequence);
      begun = started(job, pool.trySubmit(job)) != null;
    }
    // No core is idle: this one goes on with rows while the GPU encodes.
    return begun || !gpuFirst && startOnGpu(batch) != null;
  }

  /** Null when there is no GPU that would take the batch. */
  private EncodeJob startOnGpu(PageBatch batch) {
    if (gpu == null) {
      return null;
    }
    EncodeJob job = EncodeJob.onGpu(output, batch, nextSequence);
    return started(job, gpu.trySubmit(batch.filledBytes(), batch.fields(), output.partitions(), job));
  }

  /** @param result null when no thread has taken the job */
  private EncodeJob started(EncodeJob job, Future<Long> result) {
    if (result == null) {
      return null;
    }
    nextSequence++;
    job.setResult(result);
    running.add(job);
    runningBytes += job.batch().quotaBytes();
    counters.increment(Counter.WRITE_BATCHES_BY_POOL);
    return job;
  }

  /** Has a batch encoded before it returns: by the GPU if it takes it, else by this thread. */
  void encodeHere(PageBatch batch) throws IOException {
    output.open();
    EncodeJob job = startOnGpu(batch);
    if (job == null) {
      encodeByTask(batch);
      return;
    }
    await(job);
    running.remove(job);
    settle(job);
  }

  private void encodeByTask(PageBatch batch) throws IOException {
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
        return output.encodeByTask(batch, sequence, MapOutput.ALL_PARTITIONS);
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

  /**
   * Whether the last batch is worth, and can be, encoded by a pool thread while this thread commits. Not while a batch
   * before it is being encoded: this thread would wait for that one, in place of encoding the last.
   */
  boolean canCommitBeside(PageBatch last, int partitions) throws IOException {
    settleFinished();
    boolean worthIt = partitions >= PARTS && last.filledBytes() >= LEAST_BYTES_IN_PARTS;
    if (!worthIt || !running.isEmpty() || !pool.hasIdle()) {
      return false;
    }
    output.open();
    return output.parts() != null;
  }

  /**
   * Encodes the task's last batch by ranges of partitions, each on a pool thread while this thread writes the one
   * before it to the data file. Where the arena refuses memory, or the pool its threads, this thread encodes.
   *
   * @return bytes of the data file
   */
  long commitBeside(PageBatch last, int partitions, File file, long[] lengths, long[] checksums) throws IOException {
    long sequence = nextSequence++;
    boolean settled = false;
    try {
      long before = output.memoryBytes();
      long start = System.nanoTime();
      output.beginParts(file);
      besideNanos = System.nanoTime() - start;
      EncodeJob ahead = startPart(last, sequence, bound(1, partitions));
      for (int part = 1; part <= PARTS; part++) {
        if (!finishPart(ahead, last, sequence, bound(part, partitions))) {
          output.parts().abort();
          settled = true;
          counters.increment(Counter.WRITE_BATCHES_BY_TASK);
          encodeAndSettle(last, sequence);
          start = System.nanoTime();
          long written = output.commit(file, lengths, checksums);
          besideNanos += System.nanoTime() - start;
          return written;
        }
        if (part == PARTS) {
          settled = true;
          output.settle(last, output.memoryBytes() - before);
        }
        ahead = part == PARTS ? null : startPart(last, sequence, bound(part + 1, partitions));
        writePart(bound(part, partitions), ahead);
      }
      counters.increment(Counter.WRITE_BATCHES_BY_POOL);
      counters.increment(Counter.WRITE_COMMITS_BESIDE);
      return output.endParts(lengths, checksums);
    } finally {
      // Else the job that reads its pages frees them.
      if (!settled && running.stream().noneMatch(job -> job.batch() == last)) {
        last.release(memory);
      }
    }
  }

  private static int bound(int part, int partitions) {
    return (int) ((long) partitions * part / PARTS);
  }

  /** Null when no thread is idle. */
  private EncodeJob startPart(PageBatch batch, long sequence, int until) {
    EncodeJob job = new EncodeJob(output, batch, sequence, until);
    Future<Long> result = pool.trySubmit(job);
    if (result == null) {
      return null;
    }
    job.setResult(result);
    running.add(job);
    return job;
  }

  /**
   * Waits for a part's encode, or encodes it here.
   *
   * @param ahead null when no pool thread has it
   * @return false when the arena has refused memory
   */
  private boolean finishPart(EncodeJob ahead, PageBatch batch, long sequence, int until) {
    try {
      if (ahead == null) {
        output.encodeByTask(batch, sequence, until);
      } else {
        await(ahead);
        running.remove(ahead);
        ahead.result().get();
      }
      return true;
    } catch (NativeException e) {
      return passRefusal(e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof NativeException refused) {
        return passRefusal(refused);
      }
      throw new SluiceException("an encoder thread failed: " + e.getCause().getMessage(), e.getCause());
    } catch (InterruptedException e) {
      throw new IllegalStateException("a finished future does not wait", e);
    }
  }

  /** False for a refusal of memory; any other failure is the task's. */
  private static boolean passRefusal(NativeException e) {
    if (e.reason() == NativeCore.NO_MEMORY) {
      return false;
    }
    throw e;
  }

  private void writePart(int until, EncodeJob beside) throws IOException {
    long start = System.nanoTime();
    boolean encodes = beside != null && !beside.result().isDone();
    output.parts().write(until);
    long nanos = System.nanoTime() - start;
    besideNanos += nanos;
    if (encodes) {
      counters.add(Counter.WRITE_BESIDE_NANOS, nanos);
    }
  }

  /** The time that {@link #commitBeside} has written to the data file, without that for which it waited for encodes. */
  long besideNanos() {
    return besideNanos;
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
      await(running.peek());
      settle(running.poll());
    }
  }

  private void await(EncodeJob job) {
    // No clock: in a process that is stopped for a while a call would seem not to end.
    long polls = 0;
    while (!job.result().isDone()) {
      context.killTaskIfInterrupted();
      waitFor(job.result(), POLL_MILLIS);
      polls = isHeldUpByLostGpu(job) ? polls + 1 : 0;
      if (polls * POLL_MILLIS > LOST_GPU_WAIT_MILLIS) {
        throw new SluiceException("the GPU's driver has not returned from a call that encodes a batch of this task, "
            + LOST_GPU_WAIT_MILLIS + " ms after the GPU was given up; Spark tries the task again, without the GPU");
      }
    }
  }

  /** False for a job whose batch was declined when the GPU was lost: its thread encodes, for as long as that takes. */
  private boolean isHeldUpByLostGpu(EncodeJob job) {
    return job.isOnGpu() && !job.result().isDone() && gpu.isLost() && output.isWaitingForGpu();
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
