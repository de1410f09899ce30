package io.sluice.spark.concurrent;

import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A fixed number of threads that take work only when one of them is idle. There is no queue: if no thread is idle,
 * {@link #trySubmit} returns null and the caller runs the work on its own thread.
 *
 * <p>Threads are daemons, start when first needed and end after half a minute without work. All methods may
 * be called from any thread.
 */
public final class WorkerPool implements AutoCloseable {
  private static final long IDLE_SECONDS = 30;

  private final int size;
  private final Semaphore idle;
  private final ThreadPoolExecutor threads;

  /**
   * @param name the prefix of the threads' names; their number follows
   * @param size number of threads; 0 refuses everything
   */
  public WorkerPool(String name, int size) {
    this.size = size;
    this.idle = new Semaphore(size);
    AtomicInteger number = new AtomicInteger();
    // The permits bound the queue: it holds only tasks that a thread about to become idle takes next.
    this.threads = new ThreadPoolExecutor(Math.max(size, 1), Math.max(size, 1), IDLE_SECONDS, TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(), task -> {
          Thread thread = new Thread(task, name + "-" + number.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        });
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Starts {@code work} on an idle thread.
   *
   * @return its future, or null when no thread is idle or the pool is closed; the work was not started then
   */
  public <T> Future<T> trySubmit(Callable<T> work) {
    if (!idle.tryAcquire()) {
      return null;
    }
    try {
      return threads.submit(() -> {
        try {
          return work.call();
        } finally {
          idle.release();
        }
      });
    } catch (RejectedExecutionException e) {
      idle.release();
      return null;
    }
  }

  /** Whether a thread is idle now; another caller may be faster to give it work. */
  public boolean hasIdle() {
    return idle.availablePermits() > 0;
  }

  /** How many threads work now. */
  public int busy() {
    return size - idle.availablePermits();
  }

  /** Refuses new work; work that runs is finished. */
  @Override
  public void close() {
    threads.shutdown();
  }
}
