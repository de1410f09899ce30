package io.sluice.spark.order;

import io.sluice.spark.record.KeyStructure;
import io.sluice.spark.record.RowKey;
import java.util.ArrayList;
import java.util.List;

/**
 * Orders keys of one structure by some of their parts: by the first of these, where it is equal by the next, and so on.
 *
 * <p>A prefix holds the prefixes of as many parts as fit, the first of them in the highest bits. One that does not fit
 * is cut, and is the first of the next depth. A part that its first prefix may not wholly say is the last that has any:
 * what follows it is compared.
 *
 * <pre>
 *   (Int, Short, String, Long), depth 0:  | Int 32 | Short 16 | 2 characters 16 |
 *                               depth 1:  | characters 1 to 8                   |   depth 2:  | characters 9 to 16 | …
 * </pre>
 */
final class OrderByParts implements KeyOrder {
  /**
   * One part.
   *
   * @param part its index in the key
   */
  record Step(int part, PartOrder order) {}

  private final KeyStructure structure;
  private final List<Step> steps;
  private final int[] parts;
  private final PartOrder[] orders;
  /** Null if there are several: keys of one part are the most frequent. */
  private final PartOrder only;
  /** The step whose prefix is the first at each depth, up to {@link #lastDepth}. */
  private final int[] firstSteps;
  private final int lastDepth;
  /** Whether the last depth begins with a part that may have prefixes at further depths. */
  private final boolean lastIsOpen;

  /** @param steps at least one */
  OrderByParts(KeyStructure structure, List<Step> steps) {
    this.structure = structure;
    this.steps = List.copyOf(steps);
    parts = steps.stream().mapToInt(Step::part).toArray();
    orders = steps.stream().map(Step::order).toArray(PartOrder[]::new);
    only = steps.size() == 1 && parts[0] == 0 ? orders[0] : null;
    List<Integer> firsts = new ArrayList<>(List.of(0));
    int room = Long.SIZE;
    int open = -1;
    for (int i = 0; i < orders.length && open < 0; i++) {
      int bits = orders[i].exactBits();
      if (room < Long.SIZE && (bits == 0 || bits > room)) {
        firsts.add(i);
        room = Long.SIZE;
      }
      open = bits == 0 ? i : open;
      room -= bits;
    }
    firstSteps = firsts.stream().mapToInt(Integer::intValue).toArray();
    lastDepth = firstSteps.length - 1;
    lastIsOpen = open >= 0;
  }

  /** Whether {@code other} orders keys of the same structure in the same way. */
  boolean isSameAs(OrderByParts other) {
    return structure.equals(other.structure) && steps.equals(other.steps);
  }

  /** The steps, in their order. */
  List<Step> steps() {
    return steps;
  }

  @Override
  public boolean hasPrefix(RowKey key) {
    return key.has(structure);
  }

  @Override
  public long prefix(RowKey key, int depth) {
    return only != null ? only.prefix(key.part(0), depth) : prefixOfSeveral(key, depth);
  }

  private long prefixOfSeveral(RowKey key, int depth) {
    if (depth >= lastDepth && lastIsOpen) {
      int step = firstSteps[lastDepth];
      return orders[step].prefix(key.part(parts[step]), depth - lastDepth);
    }
    long prefix = 0;
    int filled = 0;
    for (int i = firstSteps[depth]; i < orders.length && filled < Long.SIZE; i++) {
      int bits = orders[i].exactBits();
      long next = orders[i].prefix(key.part(parts[i]), 0);
      if (bits == 0) {
        return prefix | next >>> filled;
      }
      prefix |= next >>> Long.SIZE - bits << Long.SIZE - bits >>> filled;
      filled += bits;
    }
    return prefix;
  }

  @Override
  public boolean hasNextPrefix(long prefix, int depth) {
    return depth < lastDepth || lastIsOpen && orders[firstSteps[lastDepth]].hasNextPrefix(prefix, depth - lastDepth);
  }

  @Override
  public boolean reaches(RowKey key, int depth) {
    int step = firstSteps[lastDepth];
    return depth < lastDepth
        || (lastIsOpen ? orders[step].reaches(key.part(parts[step]), depth - lastDepth) : depth == lastDepth);
  }

  @Override
  public boolean canSortFullyWithPrefix(int depth) {
    return !lastIsOpen && depth >= lastDepth;
  }

  @Override
  public int compare(RowKey left, RowKey right) {
    if (only != null) {
      return only.compare(left.part(0), right.part(0));
    }
    for (int i = 0; i < orders.length; i++) {
      int order = orders[i].compare(left.part(parts[i]), right.part(parts[i]));
      if (order != 0) {
        return order;
      }
    }
    return 0;
  }

  @Override
  public String toString() {
    return structure + " by " + steps;
  }
}
