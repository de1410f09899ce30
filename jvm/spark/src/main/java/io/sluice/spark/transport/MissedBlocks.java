package io.sluice.spark.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * Fetches of which blocks did not arrive while others are still on their way. Such blocks are asked of Spark's block
 * transfer when the fetch is settled, in one request, but not later than {@link #DELAY_MILLIS} after the first of them:
 * the others may have to wait for memory, or for a slow executor, and need not hold them up.
 *
 * <p>Used by the polling thread only.
 */
final class MissedBlocks {
  static final long DELAY_MILLIS = 100;
  private static final long DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(DELAY_MILLIS);

  /** In the order of their times. */
  private final Queue<Missed> waiting = new ArrayDeque<>();

  private record Missed(OneSidedFetch fetch, long sinceNanos) {}

  /** The first block of a fetch is missed, since blocks of it were last asked of Spark. */
  void add(OneSidedFetch fetch, long nowNanos) {
    waiting.add(new Missed(fetch, nowNanos));
  }

  /** The fetches whose blocks have waited long enough; each once. */
  List<OneSidedFetch> takeDue(long nowNanos) {
    List<OneSidedFetch> due = new ArrayList<>();
    while (!waiting.isEmpty() && nowNanos - waiting.peek().sinceNanos() >= DELAY_NANOS) {
      due.add(waiting.remove().fetch());
    }
    return due;
  }

  /** Until some have waited long enough; at most so many milliseconds. */
  int millisUntilDue(long nowNanos, int most) {
    if (waiting.isEmpty()) {
      return most;
    }
    long leftNanos = Math.max(0, DELAY_NANOS - (nowNanos - waiting.peek().sinceNanos()));
    // Rounded up: a wait that is too short by a part of a millisecond would be made again and again.
    return (int) Math.min(most, TimeUnit.NANOSECONDS.toMillis(leftNanos) + 1);
  }
}
