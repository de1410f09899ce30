package io.sluice.spark.decode;

import io.sluice.spark.SluiceException;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.FetchFailures;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.NoSuchElementException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;

/**
 * The rows of a reduce task, as Spark's own reader gives them: one pair and one row, reused for every record.
 *
 * <p>A row points into the current batch, off-heap. As in Spark, {@link #next} ends its life and {@link
 * #hasNext} does not: a batch is decoded in {@link #next}. {@link #next} only moves a pointer: a batch is
 * served in segments of at most {@link #SEGMENT_ROWS} rows, and everything else happens between segments: the
 * check for a killed task, the metrics, the next batch. Metrics are exact at the end and at any early stop.
 *
 * <p><b>Life.</b> Memory goes back when {@link #hasNext} has become false, after an error, or in {@link
 * #close}, which a completion listener calls. From then on {@link #hasNext} stays false if the rows had come
 * to their end, else it throws. Whenever memory goes back or is written anew, the row is first pointed at an
 * on-heap copy of itself, so it never points at memory that is not its own.
 *
 * <p><b>Threads.</b> One consumer. If that is not a task thread, it may outlive the task's end by a moment;
 * it gets each batch as an on-heap copy, and a lock keeps {@link #close} from freeing memory while a batch is
 * being read. Waiting for the network happens under that lock: the fetch iterator is closed by a listener that
 * runs later, so it goes on bringing blocks until the consumer has let go.
 */
public final class RowIterator extends AbstractIterator<Product2<Object, UnsafeRow>> {
  /** Rows between two checks for a killed task. */
  static final int SEGMENT_ROWS = 256;

  private enum State { OPEN, EXHAUSTED, CLOSED }

  private final BatchSource batches;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final FetchFailures failures;
  private final BooleanSupplier onTaskThread;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile State state = State.OPEN;

  private UnsafeRow row;
  private Tuple2<Object, UnsafeRow> pair;
  private int segmentRows;
  private int segmentLeft;
  private int batchLeft;
  /** Null for off-heap rows, else the array that holds a copy of the batch. */
  private byte[] base;
  private long rowOffset;
  private long lengthOffset;

  /** @param onTaskThread whether the calling thread is one that ends before the task's listeners run */
  public RowIterator(BatchSource batches, TaskContext context, ShuffleReadMetricsReporter metrics, FetchFailures failures,
      BooleanSupplier onTaskThread) {
    this.batches = batches;
    this.context = context;
    this.metrics = metrics;
    this.failures = failures;
    this.onTaskThread = onTaskThread;
  }

  @Override
  public boolean hasNext() {
    return segmentLeft > 0 || more();
  }

  @Override
  public Product2<Object, UnsafeRow> next() {
    if (segmentLeft == 0) {
      startBatch();
    }
    segmentLeft--;
    int length = Platform.getInt(base, lengthOffset);
    lengthOffset += Integer.BYTES;
    row.pointTo(base, rowOffset, length);
    rowOffset += length;
    return pair;
  }

  /** Between two segments: whether there is another row; starts the next segment of the current batch. */
  private boolean more() {
    lock.lock();
    try {
      countHandedOut();
      if (state != State.OPEN) {
        return endedBefore();
      }
      context.killTaskIfInterrupted();
      if (batchLeft > 0) {
        startSegment();
        return true;
      }
      if (batches.hasNext()) {
        return true;
      }
      finish();
      return false;
    } catch (Throwable thrown) {
      throw failed(thrown);
    } finally {
      lock.unlock();
    }
  }

  /** Makes a segment of rows available, of a new batch if need be. */
  private void startBatch() {
    lock.lock();
    try {
      if (!more()) {
        throw new NoSuchElementException("no more rows in this shuffle partition");
      }
      if (segmentLeft == 0) {
        nextBatch();
        startSegment();
      }
    } finally {
      lock.unlock();
    }
  }

  private void startSegment() {
    segmentRows = Math.min(batchLeft, SEGMENT_ROWS);
    segmentLeft = segmentRows;
    batchLeft -= segmentRows;
  }

  private boolean endedBefore() {
    if (state == State.CLOSED) {
      context.killTaskIfInterrupted();
      throw new SluiceException("shuffle rows were asked for after their task had ended or failed");
    }
    return false;
  }

  private void nextBatch() {
    keepRow();
    try {
      show(batches.next());
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
  }

  private void show(DecodedBatch batch) {
    batchLeft = batch.rows();
    base = null;
    rowOffset = batch.address();
    if (!onTaskThread.getAsBoolean()) {
      copyToHeap(batch);
    }
    lengthOffset = rowOffset + batch.rowBytes();
    if (row == null || row.numFields() != batch.fields()) {
      row = new UnsafeRow(batch.fields());
      pair = new Tuple2<>(0, row);
    }
  }

  /** Points the row at an on-heap copy of itself: the memory that it points into is about to go. */
  private void keepRow() {
    if (row != null && row.getBaseObject() == null) {
      byte[] copy = row.getBytes();
      row.pointTo(copy, Platform.BYTE_ARRAY_OFFSET, copy.length);
    }
  }

  private void copyToHeap(DecodedBatch batch) {
    long bytes = batch.rowBytes() + (long) Integer.BYTES * batch.rows();
    base = new byte[Math.toIntExact(bytes)];
    Platform.copyMemory(null, batch.address(), base, Platform.BYTE_ARRAY_OFFSET, bytes);
    rowOffset = Platform.BYTE_ARRAY_OFFSET;
  }

  private void countHandedOut() {
    int handedOut = segmentRows - segmentLeft;
    segmentRows = segmentLeft;
    if (handedOut > 0) {
      metrics.incRecordsRead(handedOut);
    }
  }

  private void finish() throws IOException {
    state = State.EXHAUSTED;
    keepRow();
    batches.close();
    context.taskMetrics().mergeShuffleReadMetrics();
  }

  /** Frees everything, then throws what the scheduler should see of {@code thrown}. */
  private RuntimeException failed(Throwable thrown) {
    if (state == State.OPEN) {
      state = State.CLOSED;
      closeBatches(thrown);
    }
    context.killTaskIfInterrupted();
    if (thrown instanceof BlockReadException unreadable && !interrupted(unreadable)) {
      throw failures.raise(unreadable);
    }
    if (thrown instanceof IOException) {
      throw new SluiceException("reading shuffle blocks stopped: " + thrown.getMessage(), thrown);
    }
    throw failures.passOn(thrown);
  }

  /** An interrupt without a kill: somebody wants this thread, the block is not at fault. */
  private static boolean interrupted(BlockReadException unreadable) {
    return unreadable.getCause() instanceof ClosedByInterruptException || Thread.currentThread().isInterrupted();
  }

  private void closeBatches(Throwable reason) {
    try {
      keepRow();
      batches.close();
    } catch (IOException | RuntimeException e) {
      reason.addSuppressed(e);
    }
  }

  /** Ends the rows: the task has completed. Idempotent, from any thread. */
  public void close() {
    lock.lock();
    try {
      if (state != State.OPEN) {
        return;
      }
      state = State.CLOSED;
      countHandedOut();
      if (base == null) {
        segmentLeft = 0;
        segmentRows = 0;
        keepRow();
      }
      batches.close();
      context.taskMetrics().mergeShuffleReadMetrics();
    } catch (IOException e) {
      throw new SluiceException("closing shuffle blocks at the end of a task", e);
    } finally {
      lock.unlock();
    }
  }
}
