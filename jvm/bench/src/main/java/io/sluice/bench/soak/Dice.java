package io.sluice.bench.soak;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Decisions that a seed determines: the same seed gives the same decisions on every machine. */
final class Dice {

  private static final long STRIDE = 0x9E3779B97F4A7C15L;
  private static final int HALF = 32;

  private final long seed;
  private final Random random;

  Dice(long seed) {
    this.seed = seed;
    this.random = new Random(seed);
  }

  /** Other decisions, which depend on this seed and {@code purpose} but not on what was decided here. */
  Dice fork(int purpose) {
    // Multiplied before too: seeds and purposes are small numbers, whose exclusive ors are often the same.
    long mixed = (seed * STRIDE + purpose) * STRIDE;
    return new Dice(mixed ^ (mixed >>> HALF));
  }

  /** A number from {@code least} to {@code most}, both included. */
  int between(int least, int most) {
    return least + random.nextInt(most - least + 1);
  }

  /** True in one case of {@code cases}. */
  boolean onceIn(int cases) {
    return random.nextInt(cases) == 0;
  }

  @SafeVarargs
  final <T> T pick(T... choices) {
    return choices[random.nextInt(choices.length)];
  }

  <T> T pick(List<T> choices) {
    return choices.get(random.nextInt(choices.size()));
  }

  /** {@code count} different elements of {@code choices}, or all if there are fewer, in any order. */
  <T> List<T> some(int count, List<T> choices) {
    List<T> left = new ArrayList<>(choices);
    List<T> picked = new ArrayList<>();
    while (picked.size() < count && !left.isEmpty()) {
      picked.add(left.remove(random.nextInt(left.size())));
    }
    return picked;
  }

  /** A seed for something else. */
  long seed() {
    return random.nextLong() >>> 1;
  }
}
