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
 * A fixed number of threads that take work only when one of them is idle and, in some pools, a core too. There is no
 * queue: if none is idle, {@link #trySubmit} returns null and the caller runs the work on its own thread.
 *
 * <p>Threads are daemons, start when first needed and end after half a minute without work. All methods may
 * be called from any thread.
 */
public final class WorkerPool implements AutoCloseable {
  private static final long IDLE_SECONDS = 30;

  private final int size;
  private final Semaphore idle;
  /** Null when threads work whatever the cores do. */
  private final IdleCores cores;
  private final ThreadPoolExecutor threads;

  /**
   * @param name the prefix of the threads' names; their number follows
   * @param size number of threads; 0 refuses everything
   */
  public WorkerPool(String name, int size) {
    this(name, size, null);
  }

  /** @param cores those that its threads work on; null when they work whatever the cores do */
  public WorkerPool(String name, int size, IdleCores cores) {
    this.size = size;
    this.cores = cores;
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
   * @return its future, or null when no thread or core is idle or the pool is closed; the work was not started then
   */
  public <T> Future<T> trySubmit(Callable<T> work) {
    if (!idle.tryAcquire()) {
      return null;
    }
    if (cores != null && !cores.tryBorrow()) {
      idle.release();
      return null;
    }
    try {
      return threads.submit(() -> {
        try {
          return work.call();
        } finally {
          end();
        }
      });
    } catch (RejectedExecutionException e) {
      end();
      return null;
    }
  }

  private void end() {
    if (cores != null) {
      cores.giveBack();
    }
    idle.release();
  }

  /** Whether a thread and a core are idle now; another caller may be faster to give them work. */
  public boolean hasIdle() {
    return idle.availablePermits() > 0 && (cores == null || cores.isAny());
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
