package io.sluice.spark.executor;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Whether reduce tasks of this executor guess the order of comparators that are not known: as long as the setting
 * allows it, and a shuffle's guesses have not been refuted several times. Any thread.
 */
public final class OrderGuesses {
  private static final int MOST_REFUTED = 3;

  private final boolean allowed;
  private final ConcurrentMap<Integer, Integer> refutedByShuffle = new ConcurrentHashMap<>();

  OrderGuesses(boolean allowed) {
    this.allowed = allowed;
  }

  public boolean areWorthwhile(int shuffleId) {
    return allowed && refutedByShuffle.getOrDefault(shuffleId, 0) < MOST_REFUTED;
  }

  /** Notes that a guess for the shuffle was wrong. */
  public void refuted(int shuffleId) {
    refutedByShuffle.merge(shuffleId, 1, Integer::sum);
  }

  /** Forgets a shuffle that was removed. */
  public void forget(int shuffleId) {
    refutedByShuffle.remove(shuffleId);
  }
}
