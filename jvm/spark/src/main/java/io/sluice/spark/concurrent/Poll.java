package io.sluice.spark.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A daemon thread that does the same thing again and again, with a pause before each. What fails is logged once and
 * tried again after the next pause.
 */
public final class Poll implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Poll.class);

  private final LongSupplier periodMillis;
  private final Exchange exchange;
  private final String failure;
  private final Thread thread;
  private boolean warned;
  private volatile boolean closed;

  /** What is done. */
  @FunctionalInterface
  public interface Exchange {
    /** Runs on the poll's thread. */
    void run() throws Exception;
  }

  private Poll(String name, LongSupplier periodMillis, Exchange exchange, String failure) {
    this.periodMillis = periodMillis;
    this.exchange = exchange;
    this.failure = failure;
    this.thread = new Thread(this::run, name);
    thread.setDaemon(true);
  }

  /**
   * Starts it.
   *
   * @param name of the thread
   * @param periodMillis asked for the pause before each
   * @param failure what it means that {@code exchange} fails, for the log
   */
  public static Poll start(String name, LongSupplier periodMillis, Exchange exchange, String failure) {
    Poll poll = new Poll(name, periodMillis, exchange, failure);
    poll.thread.start();
    return poll;
  }

  private void run() {
    try {
      while (!closed) {
        TimeUnit.MILLISECONDS.sleep(periodMillis.getAsLong());
        runOnce();
      }
    } catch (InterruptedException e) {
      LOG.debug("{} has ended", thread.getName());
    }
  }

  private void runOnce() throws InterruptedException {
    try {
      exchange.run();
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception | LinkageError e) {
      if (!warned && !closed) {
        LOG.warn("{} (said once; tried again every {} ms)", failure, periodMillis.getAsLong(), e);
        warned = true;
      }
    }
  }

  /** Ends the thread; does not wait for it. */
  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }
}
