package io.sluice.spark.cleanup;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * On an executor: a daemon thread that asks the driver every two seconds which shuffles have been removed, and removes
 * their map outputs here. Spark's own message to remove a shuffle is not used: it makes the driver forget the shuffle,
 * and when an output of a forgotten shuffle comes, the scheduler stops the application.
 */
public final class RemovalPoll implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RemovalPoll.class);
  private static final long PERIOD_MILLIS = 2_000;

  private final Driver driver;
  private final OutputRemoval removal;
  private final Thread thread;
  private long next;
  private boolean warned;
  private volatile boolean closed;

  /** The way to the driver's half of the plugin. */
  @FunctionalInterface
  public interface Driver {
    /** Sends {@code message} and waits for the answer. */
    Object ask(Object message) throws Exception;
  }

  private RemovalPoll(Driver driver, OutputRemoval removal) {
    this.driver = driver;
    this.removal = removal;
    this.thread = new Thread(this::run, "sluice-cleanup");
    thread.setDaemon(true);
  }

  /** Starts it. */
  public static RemovalPoll start(Driver driver, OutputRemoval removal) {
    RemovalPoll poll = new RemovalPoll(driver, removal);
    poll.thread.start();
    return poll;
  }

  private void run() {
    try {
      while (!closed) {
        TimeUnit.MILLISECONDS.sleep(PERIOD_MILLIS);
        exchange();
      }
    } catch (InterruptedException e) {
      LOG.debug("Removals of shuffles are not asked for any more");
    }
  }

  private void exchange() throws InterruptedException {
    try {
      apply((long[]) driver.ask(new RemovalRequest(next)));
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception | LinkageError e) {
      if (!warned && !closed) {
        LOG.warn("Shuffles of ended SQL executions stay on this executor until Spark's cleaner removes them: the "
            + "driver could not be asked, or a removal failed (said once; asked again every {} ms)", PERIOD_MILLIS, e);
        warned = true;
      }
    }
  }

  /** Does what an answer of {@link OutputRemovals#since} says. */
  private void apply(long[] answer) {
    next = answer[0];
    for (int i = 1; i + 1 < answer.length; i += 2) {
      removal.remove((int) answer[i], answer[i + 1]);
    }
  }

  /** Ends the thread; does not wait for it. */
  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }
}
