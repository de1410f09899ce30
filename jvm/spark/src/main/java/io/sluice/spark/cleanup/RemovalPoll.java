package io.sluice.spark.cleanup;

import io.sluice.spark.concurrent.Poll;
import java.util.function.IntConsumer;

/**
 * On an executor: asks the driver every two seconds which shuffles have been removed, and removes their map outputs
 * here, and which need not be moved. Where the application has started without clean-up, it asks every ten seconds
 * until somebody has had a shuffle removed: the driver of a large cluster gets few messages for nothing. Spark's own
 * message to remove a shuffle is not used: it makes the driver forget the shuffle, and when an output of a forgotten
 * shuffle comes, the scheduler stops the application.
 */
public final class RemovalPoll implements AutoCloseable {
  private static final long PERIOD_MILLIS = 2_000;
  private static final long IDLE_PERIOD_MILLIS = 10_000;

  private final Driver driver;
  private final long firstPeriodMillis;
  private final OutputRemoval removal;
  private final IntConsumer unmoved;
  private final Poll poll;
  /** Where the last answer ended; the poll's thread alone uses it. */
  private long next;

  /** The way to the driver's half of the plugin. */
  @FunctionalInterface
  public interface Driver {
    /** Sends {@code message} and waits for the answer. */
    Object ask(Object message) throws Exception;
  }

  private RemovalPoll(Driver driver, long firstPeriodMillis, OutputRemoval removal, IntConsumer unmoved) {
    this.driver = driver;
    this.firstPeriodMillis = firstPeriodMillis;
    this.removal = removal;
    this.unmoved = unmoved;
    this.poll = Poll.start("sluice-cleanup", this::periodMillis, this::exchange,
        "Shuffles of ended SQL executions stay on this executor until Spark's cleaner removes them: the driver could "
            + "not be asked, or a removal failed");
  }

  /**
   * Starts it.
   *
   * @param expected whether removals are to be expected from the start
   * @param unmoved gets the ids of shuffles that this executor does not move when it is decommissioned
   */
  public static RemovalPoll start(Driver driver, boolean expected, OutputRemoval removal, IntConsumer unmoved) {
    return start(driver, expected ? PERIOD_MILLIS : IDLE_PERIOD_MILLIS, removal, unmoved);
  }

  /** @param firstPeriodMillis the pause before each question until something has been removed */
  static RemovalPoll start(Driver driver, long firstPeriodMillis, OutputRemoval removal, IntConsumer unmoved) {
    return new RemovalPoll(driver, firstPeriodMillis, removal, unmoved);
  }

  private long periodMillis() {
    return next > 0 ? PERIOD_MILLIS : firstPeriodMillis;
  }

  /** Asks once, and does what an answer of {@link OutputRemovals#since} says. */
  private void exchange() throws Exception {
    long[] answer = (long[]) driver.ask(new RemovalRequest(next));
    next = answer[0];
    for (int i = 1; i + 1 < answer.length; i += 2) {
      if (answer[i + 1] == OutputRemovals.UNMOVED) {
        unmoved.accept((int) answer[i]);
      } else {
        removal.remove((int) answer[i], answer[i + 1]);
      }
    }
  }

  /** Ends the thread; does not wait for it. */
  @Override
  public void close() {
    poll.close();
  }
}
