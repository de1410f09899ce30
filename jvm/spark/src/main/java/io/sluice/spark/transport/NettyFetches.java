package io.sluice.spark.transport;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Asks Spark's block transfer for blocks that did not come one-sidedly, on threads of its own: Spark may wait long for
 * a connection to a host that is dead, and meanwhile completions and blocks of other executors must not wait.
 *
 * <pre>
 *   add ──→ line of the executor ── at most {@link #MOST_PER_EXECUTOR} at once ──→ threads
 * </pre>
 *
 * So the blocks of an executor wait only for threads that its own requests hold, unless several hosts are dead at once.
 * Lines and threads' queue together hold at most one entry per block that Spark's fetch iterators have under way, which
 * they bound. Any thread; Spark is called without a lock.
 */
final class NettyFetches implements AutoCloseable {
  private static final int THREADS = 16;
  private static final int MOST_PER_EXECUTOR = 2;
  private static final long IDLE_SECONDS = 30;

  private final ThreadPoolExecutor threads;
  /** By executor id; only of executors with requests. Its monitor guards the lines and {@link #closed}. */
  private final Map<String, Line> lines = new HashMap<>();
  private boolean closed;

  /** Requests of one executor, in order. */
  private static final class Line {
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int running;
  }

  NettyFetches() {
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
    if (!accept(fetch.executorId(), () -> fetch.leaveToSpark(blockIds))) {
      fetch.fail(blockIds, new IOException("the executor's transport has been stopped"));
    }
  }

  private boolean accept(String executorId, Runnable request) {
    synchronized (lines) {
      if (closed) {
        return false;
      }
      Line line = lines.computeIfAbsent(executorId, id -> new Line());
      line.waiting.add(request);
      startNext(executorId, line);
      return true;
    }
  }

  /** Called with the lines' monitor. */
  private void startNext(String executorId, Line line) {
    if (line.running < MOST_PER_EXECUTOR && !line.waiting.isEmpty()) {
      Runnable request = line.waiting.remove();
      line.running++;
      threads.execute(() -> run(executorId, line, request));
    }
  }

  private void run(String executorId, Line line, Runnable request) {
    try {
      request.run();
    } finally {
      ended(executorId, line);
    }
  }

  private void ended(String executorId, Line line) {
    synchronized (lines) {
      line.running--;
      startNext(executorId, line);
      if (line.running == 0) {
        lines.remove(executorId);
      }
      endThreadsWhenDone();
    }
  }

  /** The threads take the lines' requests one by one, so they are told to end only when there is none left. */
  private void endThreadsWhenDone() {
    if (closed && lines.isEmpty()) {
      threads.shutdown();
    }
  }

  /** Refuses new requests; requests that were added before are still sent. Twice is fine. */
  @Override
  public void close() {
    synchronized (lines) {
      closed = true;
      endThreadsWhenDone();
    }
  }
}
