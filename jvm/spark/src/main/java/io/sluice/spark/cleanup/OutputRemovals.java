package io.sluice.spark.cleanup;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * On the driver: the last removals of shuffles, and the last shuffles that decommissioned executors need not move,
 * numbered, for executors to ask for those that they have not seen. Bounded: an executor that has missed some keeps the
 * outputs until Spark's cleaner removes the shuffle, or moves them. Any thread.
 */
public final class OutputRemovals {
  /** In the place of a last map id: nothing is removed, but the shuffle is not moved. */
  static final long UNMOVED = Long.MIN_VALUE;
  /** 160 KB of an answer. */
  private static final int MOST = 10_000;

  private final Deque<long[]> last = new ArrayDeque<>();
  private long count;

  /** Adds a removal. */
  public void add(int shuffleId, long lastMapId) {
    addEntry(shuffleId, lastMapId);
  }

  /** Adds a shuffle that executors do not move when they are decommissioned. */
  public void addUnmoved(int shuffleId) {
    addEntry(shuffleId, UNMOVED);
  }

  private synchronized void addEntry(int shuffleId, long lastMapId) {
    last.addLast(new long[] {shuffleId, lastMapId});
    count++;
    if (last.size() > MOST) {
      last.removeFirst();
    }
  }

  /**
   * The removals from number {@code from} on, as an array that every executor can read, also one whose message threads
   * cannot load Sluice's classes: the number from which to ask next, then shuffle id and last map id of each removal,
   * or {@link #UNMOVED}.
   */
  public synchronized long[] since(long from) {
    int wanted = (int) Math.max(0, Math.min(last.size(), count - from));
    long[] answer = new long[1 + 2 * wanted];
    answer[0] = count;
    int skipped = last.size() - wanted;
    int at = 1;
    for (long[] removal : last) {
      if (skipped-- <= 0) {
        answer[at++] = removal[0];
        answer[at++] = removal[1];
      }
    }
    return answer;
  }
}
