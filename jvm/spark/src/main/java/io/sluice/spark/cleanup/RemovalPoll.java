package io.sluice.spark.cleanup;

import io.sluice.spark.concurrent.Poll;
import java.util.function.IntConsumer;

/**
 * On an executor: asks the driver which shuffles have been removed, and removes their map outputs here, and which need
 * not be moved. It asks again two seconds after an answer that had some, and after ever longer pauses, up to ten
 * seconds, while nothing is removed: the driver of a large cluster gets few messages for nothing. Spark's own message
 * to remove a shuffle is not used: it makes the driver forget the shuffle, and when an output of a forgotten shuffle
 * comes, the scheduler stops the application.
 */
public final class RemovalPoll implements AutoCloseable {
  private static final long SHORTEST_MILLIS = 2_000;
  private static final long LONGEST_MILLIS = 10_000;

  private final Driver driver;
  private final long shortestMillis;
  private final long longestMillis;
  private final OutputRemoval removal;
  private final IntConsumer unmoved;
  private final Poll poll;
  /** Where the last answer ended; the poll's thread alone uses it. */
  private long next;
  /** The poll's thread alone uses it, but for the constructor. */
  private long pauseMillis;

  /** The way to the driver's half of the plugin. */
  @FunctionalInterface
  public interface Driver {
    /** Sends {@code message} and waits for the answer. */
    Object ask(Object message) throws Exception;
  }

  private RemovalPoll(
      Driver driver, long shortestMillis, long longestMillis, OutputRemoval removal, IntConsumer unmoved) {
    this.driver = driver;
    this.shortestMillis = shortestMillis;
    this.longestMillis = longestMillis;
    this.removal = removal;
    this.unmoved = unmoved;
    this.pauseMillis = shortestMillis;
    this.poll = Poll.start("sluice-cleanup", () -> pauseMillis, this::exchange,
        "Shuffles of ended SQL executions stay on this executor until Spark's cleaner removes them: the driver could "
            + "not be asked, or a removal failed");
  }

  /**
   * Starts it.
   *
   * @param unmoved gets the ids of shuffles that this executor does not move when it is decommissioned
   */
  public static RemovalPoll start(Driver driver, OutputRemoval removal, IntConsumer unmoved) {
    return start(driver, SHORTEST_MILLIS, LONGEST_MILLIS, removal, unmoved);
  }

  /** With other pauses. */
  static RemovalPoll start(
      Driver driver, long shortestMillis, long longestMillis, OutputRemoval removal, IntConsumer unmoved) {
    return new RemovalPoll(driver, shortestMillis, longestMillis, removal, unmoved);
  }

  /** Asks once, and does what an answer of {@link OutputRemovals#since} says. */
  private void exchange() throws Exception {
    long[] answer = (long[]) driver.ask(new RemovalRequest(next));
    next = answer[0];
    // An idle application's executors come to the longest pause within two minutes.
    pauseMillis = answer.length > 1 ? shortestMillis : Math.min(longestMillis, pauseMillis + pauseMillis / 8);
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
