package io.sluice.bench.workload;

/** Numbers that look random and are pure functions of a row, the same on every JVM. */
final class Scatter {

  private static final double TWO_TO_MINUS_53 = 0x1.0p-53;

  private Scatter() {}

  /** The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection that scatters neighbours. */
  static long mix(long seed) {
    long z = seed + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** A uniform number in (0, 1]. */
  static double uniform(long seed) {
    return ((mix(seed) >>> 11) + 1) * TWO_TO_MINUS_53;
  }

  /** A uniform number in [0, bound). */
  static long below(long seed, long bound) {
    return Long.remainderUnsigned(mix(seed), bound);
  }
}
