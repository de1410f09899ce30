package io.sluice.bench.protocol;

/**
 * Where the time of one successful task went. Times of the clock are milliseconds since 1970, as Spark's events have
 * them.
 *
 * @param stage its stage's id
 * @param cpuS on a processor
 * @param fetchWaitS waiting for blocks of other executors
 * @param writeS in writes of shuffle files
 * @param shuffleS in the shuffle altogether: encoding, sorting, compressing and writing rows, waiting for blocks,
 *     decoding, combining and sorting what comes out of them
 */
public record TaskTime(int stage, long launchMs, long finishMs, double cpuS, double fetchWaitS, double writeS,
    double shuffleS) {

  /** Seconds from its launch to its end, as the driver saw it. */
  public double durationS() {
    return (finishMs - launchMs) / 1e3;
  }
}
