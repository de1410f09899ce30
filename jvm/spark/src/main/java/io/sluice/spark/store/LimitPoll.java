package io.sluice.spark.store;

import io.sluice.spark.concurrent.Poll;
import java.util.function.LongPredicate;

/** On an executor: asks the driver every two seconds whether the limit of map output in memory was changed. */
public final class LimitPoll implements AutoCloseable {
  private static final long PERIOD_MILLIS = 2_000;

  private final Driver driver;
  private final LongPredicate change;
  private final Poll poll;
  private long current = LimitRequest.UNCHANGED;

  /** The way to the driver's half of the plugin. */
  @FunctionalInterface
  public interface Driver {
    /** Sends {@code message} and waits for the answer. */
    Object ask(Object message) throws Exception;
  }

  private LimitPoll(Driver driver, LongPredicate change, long periodMillis) {
    this.driver = driver;
    this.change = change;
    this.poll = Poll.start("sluice-cache-limit", () -> periodMillis, this::exchange,
        "The limit of map output in memory stays as it is on this executor: the driver could not be asked");
  }

  /**
   * Starts it.
   *
   * @param change gets a new limit; false if there is no cache yet, and it wants to be asked again
   */
  public static LimitPoll start(Driver driver, LongPredicate change) {
    return start(driver, change, PERIOD_MILLIS);
  }

  static LimitPoll start(Driver driver, LongPredicate change, long periodMillis) {
    return new LimitPoll(driver, change, periodMillis);
  }

  private void exchange() throws Exception {
    long wanted = (Long) driver.ask(new LimitRequest());
    if (wanted != current && (wanted == LimitRequest.UNCHANGED || change.test(wanted))) {
      current = wanted;
    }
  }

  /** Ends the thread; does not wait for it. */
  @Override
  public void close() {
    poll.close();
  }
}
