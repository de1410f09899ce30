package io.sluice.spark.decode;

import io.sluice.spark.SluiceException;
import io.sluice.spark.fetch.FetchFailures;
import java.io.IOException;
import java.util.NoSuchElementException;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The rows of a reduce task, as Spark's own reader gives them: one pair and one row, reused for every record.
 *
 * <p>A row points into the current batch, which is outside the heap but for long rows ({@link DecodedBatch}). As in
 * Spark, {@link #next} invalidates it and {@link #hasNext} does not: a batch is decoded in {@link #next}. {@link #next}
 * only moves a pointer: a batch is served in segments of at most {@link #SEGMENT_ROWS} rows, and everything else
 * happens between segments: the check for a killed task, the metrics, the next batch. Metrics are exact at the end and
 * at any early stop of a consumer within the task.
 *
 * <p><b>Lifetime.</b> Memory is freed when {@link #hasNext} has become false, after an error, or in {@link
 * #close}, which a completion listener calls. From then on {@link #hasNext} stays false if the rows had come
 * to their end, else it throws. Before memory is freed or overwritten, the row is pointed at an on-heap copy of itself,
 * so it never points at memory that is used for something else; a long row on the heap may be overwritten by the next.
 *
 * <p><b>Threads.</b> One consumer. A consumer on a thread that may still run when the task's listeners do gets each
 * batch as a copy on the heap, so the end of the task frees no row that it reads. If the consumer runs a method of this
 * class at that time, perhaps waiting for the network, the end of the task does not wait for it: the consumer frees the
 * memory later ({@link ReaderState}).
 */
public final class RowIterator extends AbstractIterator<Product2<Object, UnsafeRow>> {
  /** What gives the rows as batches of columns instead. */
  public interface Batches {
    /**
     * Called at most once, before a row was asked for; from then on the result reads the task's blocks. Null when this
     * process cannot decode such columns, and the rows stay to be read.
     *
     * @param schema the rows' columns
     * @param mostRows of a batch
     */
    Iterator<ColumnarBatch> open(StructType schema, int mostRows);

    /** Rows only. */
    Batches NONE = (schema, mostRows) -> null;
  }

  /** Rows between two checks for a killed task. */
  static final int SEGMENT_ROWS = 256;

  private final BatchSource batches;
  private final ReaderMemory memory;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final ReadErrors errors;
  private final BooleanSupplier insideTask;
  private final Batches columns;
  private final ReaderState state = new ReaderState();
  private final RowCursor cursor = new RowCursor();
  private int segmentRows;
  private int segmentLeft;
  private int batchLeft;
  private int batchRows;
  /** Whether a row was asked for. */
  private boolean asked;

  /**
   * @param memory all that {@code batches} hold
   * @param insideTask whether the calling thread is one that ends its work before the task's listeners run
   * @param columns what gives the rows as batches of columns to a consumer that asks for them
   */
  public RowIterator(BatchSource batches, ReaderMemory memory, TaskContext context, ShuffleReadMetricsReporter metrics,
      FetchFailures failures, BooleanSupplier insideTask, Batches columns) {
    this.batches = batches;
    this.memory = memory;
    this.context = context;
    this.metrics = metrics;
    this.errors = new ReadErrors(context, failures);
    this.insideTask = insideTask;
    this.columns = columns;
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
    return cursor.advance();
  }

  /** The result's elements are those of any iterator's {@code map}: the function's results. */
  @Override
  public <T> Iterator<T> map(Function1<Product2<Object, UnsafeRow>, T> function) {
    return new MappedRows<>(this, function);
  }

  /** As {@link Batches#open}; when batches are given, no rows are any more. */
  Iterator<ColumnarBatch> takeBatches(StructType schema, int mostRows) {
    if (asked || !state.begin()) {
      return null;
    }
    try {
      Iterator<ColumnarBatch> taken = columns.open(schema, mostRows);
      if (taken != null) {
        // The batches free what they read at the task's end; nothing is held here yet.
        state.finish(false);
        return taken;
      }
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
    end();
    return null;
  }

  /** Whether the row that {@link #next} gave last is the only one of its batch. */
  public boolean isAlone() {
    return batchRows == 1;
  }

  /** Between two segments: whether there is another row; starts the next segment of the current batch. */
  private boolean more() {
    asked = true;
    countHandedOut();
    if (!state.begin()) {
      return endedBefore();
    }
    boolean found;
    try {
      context.killTaskIfInterrupted();
      found = batchLeft > 0 || batches.hasNext();
      if (!found) {
        freeAtEnd();
      }
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
    if (found) {
      end();
      startSegment();
    }
    return found;
  }

  /** Makes a segment of rows available, of a new batch if need be. */
  private void startBatch() {
    if (!more()) {
      throw new NoSuchElementException("no more rows in this shuffle partition");
    }
    if (segmentLeft > 0) {
      return;
    }
    if (!state.begin()) {
      endedBefore();
    }
    try {
      cursor.keepRow();
      open(batches.next());
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
    end();
    startSegment();
  }

  private void open(DecodedBatch batch) {
    if (insideTask.getAsBoolean()) {
      cursor.open(batch);
    } else {
      cursor.openCopy(batch);
    }
    batchRows = batch.rows();
    batchLeft = batchRows;
  }

  private void startSegment() {
    segmentRows = Math.min(batchLeft, SEGMENT_ROWS);
    segmentLeft = segmentRows;
    batchLeft -= segmentRows;
  }

  private boolean endedBefore() {
    if (!state.isExhausted()) {
      throw errors.ended(null);
    }
    return false;
  }

  private void countHandedOut() {
    int handedOut = segmentRows - segmentLeft;
    segmentRows = segmentLeft;
    if (handedOut > 0) {
      metrics.incRecordsRead(handedOut);
    }
  }

  /** The consumer no longer uses the batches. If the task has ended meanwhile, the consumer must free them. */
  private void end() {
    if (!state.end()) {
      throw errors.ended(free());
    }
  }

  private void freeAtEnd() throws IOException {
    cursor.keepRow();
    batches.close();
    state.finish(true);
    context.taskMetrics().mergeShuffleReadMetrics();
  }

  /** Frees everything, then throws {@code thrown} as the exception that the scheduler must see. */
  private RuntimeException failed(Throwable thrown) {
    throw errors.failed(state, thrown, free());
  }

  /** The error; null if there was none. */
  private Throwable free() {
    try {
      cursor.keepRow();
      batches.close();
      return null;
    } catch (IOException | RuntimeException e) {
      return e;
    }
  }

  /** Ends the rows: the task has completed. Idempotent, from any thread; does not wait for the network. */
  public void close() {
    ReaderState.Close what = state.close(memory::leaveToConsumer);
    try {
      if (what == ReaderState.Close.FREE_BATCHES) {
        if (!cursor.readsCopy()) {
          endSegment();
        }
        batches.close();
      }
    } catch (IOException e) {
      throw new SluiceException("closing shuffle blocks at the end of a task", e);
    } finally {
      if (what != ReaderState.Close.NOTHING) {
        context.taskMetrics().mergeShuffleReadMetrics();
      }
    }
  }

  /** The consumer, which is within the task and so not at work now, gets no other row of the batch. */
  private void endSegment() {
    countHandedOut();
    segmentLeft = 0;
    segmentRows = 0;
    cursor.keepRow();
  }
}
