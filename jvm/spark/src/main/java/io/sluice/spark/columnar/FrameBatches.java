package io.sluice.spark.columnar;

import io.sluice.spark.SluiceException;
import io.sluice.spark.decode.FrameGroup;
import io.sluice.spark.decode.ReadErrors;
import io.sluice.spark.decode.ReaderMemory;
import io.sluice.spark.decode.ReaderState;
import io.sluice.spark.fetch.FetchFailures;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.util.Collections;
import java.util.NoSuchElementException;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;

/**
 * The rows of a reduce task as batches of columns, which are decoded from frames without rows in between.
 *
 * <p><b>Lifetime.</b> A batch is valid until {@link #next} is called again or the task ends, as with Spark's
 * {@code RowToColumnarExec}; {@link #hasNext} and the end of the batches leave the last one as it is. After that its
 * vectors ({@link FrameVector}) throw.
 *
 * <p><b>Threads.</b> One consumer. A consumer on a thread that may still run when the task's listeners do gets each
 * batch as Spark's vectors on the heap ({@link HeapBatches}), made of the decoded columns, so that the end of the task
 * frees nothing that it reads. If it is at work here at that time, perhaps waiting for the network, it frees the
 * memory itself later ({@link ReaderState}).
 *
 * <p>A long row that is a frame as it is comes on the heap too, alone in its batch.
 */
public final class FrameBatches extends AbstractIterator<ColumnarBatch> {
  private final FrameGroup frames;
  private final DecodedColumns columns;
  private final DataType[] types;
  private final int mostRows;
  private final ReaderMemory memory;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final ReadErrors errors;
  private final BooleanSupplier insideTask;
  private final Counters counters;
  private final HeapBatches heap;
  private final ReaderState state = new ReaderState();
  /** Of the current batch; empty when it is on the heap. */
  private FrameVector[] vectors = {};
  /** Rows of the decoded columns, and how many of them were given. */
  private int decoded;
  private int given;
  private boolean exhausted;

  /**
   * Takes the frames over: they are closed when this fails, too.
   *
   * @param schema which {@link BatchTypes#of} has formats for
   * @param mostRows of a batch
   * @param memory all that {@code frames} hold
   * @param insideTask whether the calling thread is one that ends its work before the task's listeners run
   */
  public FrameBatches(FrameGroup frames, StructType schema, int mostRows, ReaderMemory memory, TaskContext context,
      ShuffleReadMetricsReporter metrics, FetchFailures failures, BooleanSupplier insideTask, Counters counters) {
    this.frames = frames;
    this.columns = new DecodedColumns(frames, schema, memory);
    this.types = new DataType[schema.size()];
    for (int i = 0; i < types.length; i++) {
      types[i] = schema.fields()[i].dataType();
    }
    this.mostRows = mostRows;
    this.memory = memory;
    this.context = context;
    this.metrics = metrics;
    this.errors = new ReadErrors(context, failures);
    this.insideTask = insideTask;
    this.counters = counters;
    this.heap = new HeapBatches(schema, mostRows);
    context.addTaskCompletionListener((TaskCompletionListener) done -> close());
  }

  @Override
  public boolean hasNext() {
    if (exhausted) {
      return false;
    }
    begin();
    boolean found;
    try {
      context.killTaskIfInterrupted();
      found = given < decoded || frames.hasNext();
      if (!found) {
        exhausted = true;
        frames.close();
        // The last arrays stay until the task's end, which may be long after this.
        columns.uncount();
        context.taskMetrics().mergeShuffleReadMetrics();
      }
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
    end();
    return found;
  }

  @Override
  public ColumnarBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException("no more batches in this shuffle partition");
    }
    begin();
    ColumnarBatch batch;
    try {
      endVectors();
      batch = given < decoded ? slice() : decode();
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
    end();
    metrics.incRecordsRead(batch.numRows());
    counters.add(Counter.READ_ROWS_OF_BATCHES, batch.numRows());
    return batch;
  }

  private ColumnarBatch decode() throws IOException {
    decoded = 0;
    given = 0;
    columns.release();
    UnsafeRow longRow = frames.nextLongRow();
    if (longRow != null) {
      return heap.next(Collections.singletonList(longRow).iterator());
    }
    if (!frames.next()) {
      throw new IllegalStateException("a frame that was there is not");
    }
    decoded = (int) columns.decode();
    return slice();
  }

  /** The next rows of the decoded columns. */
  private ColumnarBatch slice() {
    int rows = Math.min(decoded - given, mostRows);
    FrameVector[] made = new FrameVector[types.length];
    for (int i = 0; i < made.length; i++) {
      made[i] = new FrameVector(types[i], columns.structs(), i, given, rows);
    }
    given += rows;
    ColumnarBatch batch = new ColumnarBatch(made, rows);
    if (!insideTask.getAsBoolean()) {
      return heap.next(batch.rowIterator());
    }
    vectors = made;
    return batch;
  }

  private void endVectors() {
    for (FrameVector vector : vectors) {
      vector.end();
    }
    vectors = new FrameVector[0];
  }

  private void begin() {
    if (!state.begin()) {
      throw errors.ended(null);
    }
  }

  /** The consumer no longer uses the frames. If the task has ended meanwhile, the consumer must free them. */
  private void end() {
    if (!state.end()) {
      throw errors.ended(free());
    }
  }

  /** Frees everything, then throws {@code thrown} as the exception that the scheduler must see. */
  private RuntimeException failed(Throwable thrown) {
    throw errors.failed(state, thrown, free());
  }

  /** The error; null if there was none. */
  private Throwable free() {
    try {
      endVectors();
      columns.close();
      return null;
    } catch (IOException | RuntimeException e) {
      return e;
    }
  }

  /** The task has completed. Idempotent, from any thread; does not wait for the network. */
  private void close() {
    ReaderState.Close what = state.close(memory::leaveToConsumer);
    if (what == ReaderState.Close.NOTHING) {
      return;
    }
    Throwable whileFreeing = what == ReaderState.Close.FREE_BATCHES ? free() : null;
    context.taskMetrics().mergeShuffleReadMetrics();
    if (whileFreeing != null) {
      throw new SluiceException("closing shuffle blocks at the end of a task", whileFreeing);
    }
  }
}
