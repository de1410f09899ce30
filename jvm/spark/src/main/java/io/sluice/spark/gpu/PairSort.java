package io.sluice.spark.gpu;

import io.sluice.spark.SluiceException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.TaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A sort of one task's pairs, on a thread that waits for the GPU. The task may end it at any time: its memory is its
 * own again then, whatever the GPU does.
 */
final class PairSort implements Callable<Boolean>, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PairSort.class);

  private final GpuDevice device;
  private final PairRange pairs;
  private final long handle;
  private Future<Boolean> result;

  PairSort(GpuDevice device, PairRange pairs) {
    this.device = device;
    this.pairs = pairs;
    this.handle = device.beginSort();
  }

  /** The pool's future of {@link #call}. */
  void setResult(Future<Boolean> result) {
    this.result = result;
  }

  @Override
  public Boolean call() {
    return device.sortPairs(handle, pairs);
  }

  boolean isDone() {
    return result.isDone();
  }

  /** Waits so long for the end of the sort, or for the task to be killed. */
  void waitFor(long millis, TaskContext context) {
    try {
      result.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      // The caller looks at the state next.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      context.killTaskIfInterrupted();
      throw new SluiceException("interrupted while a GPU sorts references to rows", e);
    }
  }

  /** Whether the pairs were sorted, when it is done. */
  boolean isSorted() {
    try {
      return result.get();
    } catch (ExecutionException e) {
      LOG.debug("A GPU has not sorted a task's pairs", e.getCause());
      return false;
    } catch (InterruptedException e) {
      throw new IllegalStateException("a finished future does not wait", e);
    }
  }

  /** Nothing touches the task's memory any more when this has returned. */
  @Override
  public void close() {
    device.endSort(handle);
  }
}
