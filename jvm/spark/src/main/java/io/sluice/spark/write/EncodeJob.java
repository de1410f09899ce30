package io.sluice.spark.write;

import java.util.concurrent.Callable;
import java.util.concurrent.Future;

/**
 * One batch, or the rows of some partitions of it, on its way through an encoder thread. The task's thread settles it
 * when it is done; a task that fails while the encode still runs abandons it, and then the encoder thread frees the
 * pages, because memory that native code reads must not be freed.
 */
final class EncodeJob implements Callable<Long> {
  private final MapOutput output;
  private final PageBatch batch;
  private final long sequence;
  /** The partitions before it are encoded. */
  private final int until;
  private final boolean onGpu;
  private Future<Long> result;
  private boolean done;
  private boolean abandoned;

  private EncodeJob(MapOutput output, PageBatch batch, long sequence, int until, boolean onGpu) {
    this.output = output;
    this.batch = batch;
    this.sequence = sequence;
    this.until = until;
    this.onGpu = onGpu;
  }

  EncodeJob(MapOutput output, PageBatch batch, long sequence) {
    this(output, batch, sequence, MapOutput.ALL_PARTITIONS, false);
  }

  /** @param until the partitions before it are encoded */
  EncodeJob(MapOutput output, PageBatch batch, long sequence, int until) {
    this(output, batch, sequence, until, false);
  }

  /** For a thread that waits for the GPU. */
  static EncodeJob onGpu(MapOutput output, PageBatch batch, long sequence) {
    return new EncodeJob(output, batch, sequence, MapOutput.ALL_PARTITIONS, true);
  }

  boolean isOnGpu() {
    return onGpu;
  }

  PageBatch batch() {
    return batch;
  }

  long sequence() {
    return sequence;
  }

  /** The pool's future for this job. */
  Future<Long> result() {
    return result;
  }

  void setResult(Future<Long> result) {
    this.result = result;
  }

  @Override
  public Long call() {
    try {
      return onGpu ? output.encodeOnGpu(batch, sequence) : output.encode(batch, sequence, until);
    } finally {
      finish();
    }
  }

  private synchronized void finish() {
    done = true;
    if (abandoned) {
      batch.closePages();
    }
  }

  /**
   * Leaves the pages to the encoder thread. They must have been detached from the task's account.
   *
   * @return false when the encode is done after all; then the pages are still the caller's
   */
  synchronized boolean abandon() {
    abandoned = !done;
    return abandoned;
  }
}
