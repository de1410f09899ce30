package io.sluice.bench.soak;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * An RDD program that a seed determines: pairs of generated keys and values, then steps. Its result is a multiset of
 * pairs that depends on nothing but the seed. Loads no Spark class.
 */
final class RandomRecords implements RandomProgram {

  /** Classes of keys. */
  enum Keys { LONG, INT, STRING, PAIR }

  /** Classes of values. */
  enum Values { LONG, STRING, BYTES, LIST, OBJECT }

  /** A step and the partitions of its shuffle. */
  record Step(RecordStep what, int partitions) {}

  private final long rows;
  private final Keys keys;
  private final Values values;
  private final int distinct;
  private final int maps;
  private final List<Step> steps = new ArrayList<>();

  RandomRecords(long seed, long rows, int steps) {
    Dice dice = new Dice(seed).fork(0);
    this.rows = rows;
    this.keys = dice.pick(Keys.values());
    this.values = dice.pick(Values.values());
    this.distinct = dice.pick(1, 10, 500, 20_000, 1_000_000);
    this.maps = dice.between(1, 8);
    for (int step = 1; step <= steps; step++) {
      Dice own = new Dice(seed).fork(step);
      this.steps.add(new Step(own.pick(RecordStep.values()), own.pick(1, 2, 7, 30, 200)));
    }
  }

  static int stepsOf(long seed) {
    return new Dice(seed).fork(-1).between(1, 5);
  }

  @Override
  public int steps() {
    return steps.size();
  }

  long rows() {
    return rows;
  }

  Keys keys() {
    return keys;
  }

  Values values() {
    return values;
  }

  /** How many different keys there are at most. */
  int distinct() {
    return distinct;
  }

  /** Partitions of the generated pairs. */
  int maps() {
    return maps;
  }

  List<Step> list() {
    return List.copyOf(steps);
  }

  @Override
  public String text() {
    StringBuilder text = new StringBuilder(String.format(Locale.ROOT,
        "%,d pairs of %s keys (at most %,d) and %s values, "
            + "%d partitions",
        rows, keys.name().toLowerCase(Locale.ROOT), distinct, values.name().toLowerCase(Locale.ROOT), maps));
    steps.forEach(
        step -> text.append(String.format(Locale.ROOT, "%n  %s, %d partitions", step.what(), step.partitions())));
    return text.toString();
  }
}
