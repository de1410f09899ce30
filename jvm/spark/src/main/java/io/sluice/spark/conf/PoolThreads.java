package io.sluice.spark.conf;

import java.util.OptionalLong;

/**
 * The threads of one pool of an executor.
 *
 * @param most that the pool has
 * @param certain how many of them can work whatever tasks do
 * @param onlyOnIdleCores whether they work only on cores that no task's thread occupies at the moment
 */
public record PoolThreads(int most, int certain, boolean onlyOnIdleCores) {
  /** @param set the user's number; empty for {@code auto} */
  static PoolThreads of(OptionalLong set, Cores cores) {
    return set.isPresent() ? fixed((int) set.getAsLong())
        : new PoolThreads(cores.mostIdle(), cores.spare(), true);
  }

  /** So many, whatever tasks do. */
  public static PoolThreads fixed(int threads) {
    return new PoolThreads(threads, threads, false);
  }
}
