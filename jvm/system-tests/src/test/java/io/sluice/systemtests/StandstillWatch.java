package io.sluice.systemtests;

import java.time.Duration;

/** Records the longest time in which this process ran no Java code: a thread that looks at the clock every 5 ms. */
final class StandstillWatch implements AutoCloseable {
  private static final long TICK_MILLIS = 5;
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final Thread thread = new Thread(this::tick, "standstill-watch");
  private volatile boolean closed;
  private volatile long ticks;
  private volatile Span longest = new Span(0, 0);

  private StandstillWatch() {
    thread.setDaemon(true);
  }

  static StandstillWatch start() {
    StandstillWatch watch = new StandstillWatch();
    watch.thread.start();
    return watch;
  }

  /** The longest so far, one that has just ended included. */
  Span longest() {
    // At the second tick from here it has been recorded.
    long seen = ticks;
    Await.until(LIMIT, () -> "the watch stands still", () -> ticks >= seen + 2);
    return longest;
  }

  private void tick() {
    long last = System.nanoTime();
    long lastMillis = System.currentTimeMillis();
    long longestNanos = 0;
    while (!closed) {
      try {
        Thread.sleep(TICK_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
      long now = System.nanoTime();
      long nowMillis = System.currentTimeMillis();
      if (now - last > longestNanos) {
        longestNanos = now - last;
        longest = new Span(lastMillis, nowMillis);
      }
      last = now;
      lastMillis = nowMillis;
      ticks++;
    }
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }
}
