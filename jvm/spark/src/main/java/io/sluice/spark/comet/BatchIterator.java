package io.sluice.spark.comet;

import io.sluice.spark.SluiceException;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.FetchFailures;
import java.io.IOException;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;

/**
 * The batches of a reduce task, as Comet's own reader gives them: pairs of 0 and batch. Closed at their end, after an
 * error, and when the task completes; methods of other threads wait for each other.
 */
final class BatchIterator extends AbstractIterator<Product2<Object, Object>> {
  private final FramesToBatches batches;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final FetchFailures failures;
  private ColumnarBatch next;
  private boolean closed;
  private boolean ended;

  BatchIterator(FramesToBatches batches, TaskContext context, ShuffleReadMetricsReporter metrics,
      FetchFailures failures) {
    this.batches = batches;
    this.context = context;
    this.metrics = metrics;
    this.failures = failures;
    context.addTaskCompletionListener((TaskCompletionListener) done -> close());
  }

  @Override
  public synchronized boolean hasNext() {
    if (next == null && !ended) {
      fetch();
    }
    return next != null;
  }

  @Override
  public synchronized Product2<Object, Object> next() {
    if (!hasNext()) {
      throw new NoSuchElementException("no more batches in this shuffle partition");
    }
    ColumnarBatch given = next;
    next = null;
    metrics.incRecordsRead(given.numRows());
    return new Tuple2<>(0, given);
  }

  private void fetch() {
    if (closed) {
      context.killTaskIfInterrupted();
      throw new SluiceException("shuffle batches were asked for after their task had ended or failed");
    }
    try {
      context.killTaskIfInterrupted();
      next = batches.next();
      if (next == null) {
        ended = true;
        close();
      }
    } catch (BlockReadException unreadable) {
      close();
      context.killTaskIfInterrupted();
      throw failures.raise(unreadable);
    } catch (IOException e) {
      close();
      throw new SluiceException("reading shuffle blocks stopped: " + e.getMessage(), e);
    } catch (RuntimeException | Error e) {
      close();
      throw failures.passOn(e);
    }
  }

  private synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    next = null;
    try {
      batches.close();
    } catch (IOException e) {
      throw new SluiceException("closing shuffle blocks", e);
    } finally {
      context.taskMetrics().mergeShuffleReadMetrics();
    }
  }
}
