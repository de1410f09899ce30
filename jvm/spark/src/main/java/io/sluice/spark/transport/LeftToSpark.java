package io.sluice.spark.transport;

import java.io.IOException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Asks Spark's block transfer for blocks that did not come one-sidedly, on threads of its own: Spark may wait long for a
 * connection to a host that is dead, and neither completions nor blocks of others must wait with it. The queue holds at
 * most one entry per request that Spark's fetch iterators have under way, which they bound.
 */
final class LeftToSpark implements AutoCloseable {
  private static final int THREADS = 16;
  private static final long IDLE_SECONDS = 30;

  private final ThreadPoolExecutor threads;

  LeftToSpark() {
    AtomicInteger number = new AtomicInteger();
    threads = new ThreadPoolExecutor(THREADS, THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
        work -> {
          Thread thread = new Thread(work, "sluice-transport-netty-" + number.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        });
    threads.allowCoreThreadTimeOut(true);
  }

  void add(OneSidedFetch fetch, String[] blockIds) {
    try {
      threads.execute(() -> fetch.leaveToSpark(blockIds));
    } catch (RejectedExecutionException e) {
      fetch.fail(blockIds, new IOException("the executor's transport has been stopped", e));
    }
  }

  /** Refuses new work; what has been added is still asked for. */
  @Override
  public void close() {
    threads.shutdown();
  }
}
