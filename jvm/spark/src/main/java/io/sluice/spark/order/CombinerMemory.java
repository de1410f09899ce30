package io.sluice.spark.order;

import io.sluice.spark.SluiceException;
import io.sluice.spark.memory.HeapQuota;
import java.util.function.LongSupplier;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The size of a hash table of combiners on the heap, and its share of Spark's execution memory. The combiners are the
 * user's objects, so their size is estimated from time to time, as Spark's {@code SizeTracker} does, and assumed to
 * grow evenly between two estimates. Up to {@code spark.shuffle.spill.initialMemoryThreshold} the table is not counted,
 * as Spark's is not.
 *
 * <p>Estimates are rarer than Spark's, which follow each other when there are a tenth more updates, because each of
 * them walks the objects of a sample of the keys: while the table is too small to be counted they come at each
 * doubling up to 16,384 updates, then after so many or a tenth more, and when the rows since the last one are so large
 * that they could fill it. One thread, but for {@link #release} and {@link #askToEnd}.
 */
final class CombinerMemory {
  private static final String INITIAL_THRESHOLD = "spark.shuffle.spill.initialMemoryThreshold";
  private static final String FORCED_BY_ELEMENTS = "spark.shuffle.spill.numElementsForceSpillThreshold";
  private static final String FORCED_BY_SIZE = "spark.shuffle.spill.maxSizeInBytesForSpillThreshold";
  private static final String DEFAULT_INITIAL_BYTES = "5m";
  /** Between two estimates of a table that is not counted: more than this only when it is a tenth of all updates. */
  private static final long UNCOUNTED_UPDATES = 1 << 14;
  private static final double GROWTH = 1.2;

  private final TaskContext context;
  private final HeapQuota quota;
  private final LongSupplier estimate;
  private final long initialBytes;
  /** Bytes that the table may have before more is asked for. */
  private long thresholdBytes;
  private long updates;
  /** When {@link #check} is due. */
  private long nextCheck = 1;
  private long nextSample = 1;
  private long sampledAt;
  private long sampledBytes;
  /** Bytes of rows since the last estimate, and how many make another one due. */
  private long rowBytes;
  private long mostRowBytes;
  private double bytesPerUpdate;
  private long peakBytes;
  private volatile boolean askedToEnd;
  private volatile boolean ended;

  /**
   * @param estimate of the table's size now
   * @param spill called when the task's other operators need memory
   */
  CombinerMemory(TaskContext context, LongSupplier estimate, HeapQuota.Spill spill) {
    this.context = context;
    this.estimate = estimate;
    this.quota = new HeapQuota(context.taskMemoryManager(), spill);
    this.initialBytes = SparkEnv.get().conf().getSizeAsBytes(INITIAL_THRESHOLD, DEFAULT_INITIAL_BYTES);
    this.thresholdBytes = initialBytes;
    context.addTaskCompletionListener((TaskCompletionListener) done -> {
      ended = true;
      release();
    });
  }

  /** Whether settings, which are for tests, make Spark's map spill without need; only Spark's map heeds them. */
  static boolean spillsAreForced(SparkConf conf) {
    return conf.contains(FORCED_BY_ELEMENTS) || conf.contains(FORCED_BY_SIZE);
  }

  /**
   * Counts one record that was combined; false when the table is to take no more, because memory is short.
   *
   * @param bytes of its row; 0 if it was none
   */
  boolean covers(int bytes) {
    rowBytes += bytes;
    return ++updates < nextCheck && rowBytes <= mostRowBytes || check();
  }

  private boolean check() {
    if (ended) {
      throw new SluiceException("task attempt " + context.taskAttemptId() + " has ended while records were combined");
    }
    if (askedToEnd) {
      return false;
    }
    if (updates >= nextSample || rowBytes > mostRowBytes) {
      sample();
    }
    long bytes = bytes();
    if (bytes >= thresholdBytes) {
      // As Spark's map: room for twice its size.
      thresholdBytes += quota.acquireMemory(2 * bytes - thresholdBytes);
      if (bytes >= thresholdBytes) {
        return false;
      }
    }
    double untilThreshold = (thresholdBytes - sampledBytes) / bytesPerUpdate + 1;
    nextCheck = Math.max(updates + 1, untilThreshold < nextSample - sampledAt ? sampledAt + (long) untilThreshold
        : nextSample);
    return true;
  }

  private void sample() {
    long bytes = estimate.getAsLong();
    bytesPerUpdate = Math.max(0, (double) (bytes - sampledBytes) / (updates - sampledAt));
    sampledBytes = bytes;
    sampledAt = updates;
    rowBytes = 0;
    mostRowBytes = Math.max(initialBytes, bytes) / 2;
    nextSample = updates + (2 * bytes < initialBytes
        ? Math.min(updates, Math.max(UNCOUNTED_UPDATES, updates / 10)) : (long) Math.ceil(updates * (GROWTH - 1)));
  }

  /** The estimated size now. */
  private long bytes() {
    long bytes = sampledBytes + (long) (bytesPerUpdate * (updates - sampledAt));
    peakBytes = Math.max(peakBytes, bytes);
    return bytes;
  }

  /** The largest size, also after the last {@link #covers}. */
  long peakBytes() {
    bytes();
    return peakBytes;
  }

  /** Bytes of Spark's memory that are held. */
  long heldBytes() {
    return quota.getUsed();
  }

  /** Soon {@link #covers} will be false. Any thread. */
  void askToEnd() {
    askedToEnd = true;
    nextCheck = 0;
  }

  /** Gives all memory back, which may be none. Any thread. */
  void release() {
    quota.release();
  }
}
