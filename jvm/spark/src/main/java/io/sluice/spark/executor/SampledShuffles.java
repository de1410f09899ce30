package io.sluice.spark.executor;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Of which shuffles a process has looked at the encodings of a frame; it does once. Any thread. */
public final class SampledShuffles {
  /** Shuffles that are never removed must not fill the memory. */
  private static final int MOST = 10_000;

  private final Set<Integer> shuffles = ConcurrentHashMap.newKeySet();

  /** Whether a frame of the shuffle was looked at, or none will be. */
  public boolean contains(int shuffleId) {
    return shuffles.contains(shuffleId) || shuffles.size() >= MOST;
  }

  /** Whether the caller is the first, who is to look at a frame. */
  public boolean add(int shuffleId) {
    return shuffles.size() < MOST && shuffles.add(shuffleId);
  }

  /** Forgets a shuffle that was removed. */
  public void forget(int shuffleId) {
    shuffles.remove(shuffleId);
  }
}
