package io.sluice.bench.scale;

/**
 * How much one shuffle moves, rows spread evenly at random over blocks.
 *
 * @param rows of all map tasks together
 * @param maps map tasks
 * @param partitions reduce tasks
 */
public record Shuffle(double rows, double maps, double partitions) {

  /** Blocks that have a row, of {@code maps} times {@code partitions}: the others are neither written nor asked for. */
  public double blocks() {
    double all = maps * partitions;
    return all * -Math.expm1(-rows / all);
  }

  /** Blocks without a row of one map task. */
  public double emptyBlocksOfAMap() {
    return partitions - blocks() / maps;
  }
}
