package io.sluice.spark.write;

/** The partitions of a shuffle in an order that differs between map tasks, each once. Not thread-safe. */
final class SampleOrder {
  private static final long MIX = 0x9e3779b97f4a7c15L;

  private final int partitions;
  private final long first;
  private final long step;
  private int taken;

  SampleOrder(int partitions, long seed) {
    this.partitions = partitions;
    long hash = (seed + 1) * MIX;
    this.first = Math.floorMod(hash >>> Integer.SIZE, (long) partitions);
    this.step = coprime(1 + Math.floorMod(hash >>> Short.SIZE, (long) partitions), partitions);
  }

  /**
   * The first number from {@code start} on that has no divisor in common with {@code n}: its multiples visit all
   * residues.
   */
  private static long coprime(long start, int n) {
    long number = start;
    while (greatestCommonDivisor(number, n) != 1) {
      number++;
    }
    return number;
  }

  private static long greatestCommonDivisor(long a, long b) {
    return b == 0 ? a : greatestCommonDivisor(b, a % b);
  }

  boolean hasNext() {
    return taken < partitions;
  }

  int next() {
    return (int) ((first + taken++ * step) % partitions);
  }
}
