package io.sluice.spark.order;

import io.sluice.spark.record.RowKey;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Guesses how a comparator orders keys, of which nothing is known but its answers: by one of some usual orders that
 * contradicts none of them for a sample of the keys. A guess may be wrong, so {@link ProvenSorter} checks what it makes
 * of it.
 */
final class OrderGuess {
  /** Keys that are compared with each other, one with the next. */
  private static final int SAMPLE = 64;

  private OrderGuess() {}

  /** The orders that are tried for keys like {@code key}, the likeliest first; none for keys that have no prefix. */
  static List<KeyOrder> candidates(RowKey key) {
    List<KeyOrder> orders = new ArrayList<>();
    switch (key.kind()) {
      case BYTES -> {
        orders.add(new KeyOrder.UnsignedBytes());
        orders.add(new KeyOrder.SignedBytes());
      }
      case LATIN1 -> orders.add(new KeyOrder.NarrowText());
      case UTF16 -> orders.add(new KeyOrder.WideText());
      case BYTE, SHORT, CHARACTER, INTEGER, LONG -> {
        orders.add(new KeyOrder.Numbers(key.kind()));
        orders.add(new KeyOrder.UnsignedNumbers(key.kind()));
      }
      case FLOAT, DOUBLE -> orders.add(new KeyOrder.FloatingNumbers(key.kind()));
      case PAIR -> {
        return pairs(candidates(key.first()), candidates(key.second()));
      }
      default -> {}
    }
    List<KeyOrder> all = new ArrayList<>();
    for (KeyOrder order : orders) {
      all.add(order);
      all.add(new KeyOrder.Reversed(order));
    }
    return all;
  }

  private static List<KeyOrder> pairs(List<KeyOrder> firsts, List<KeyOrder> seconds) {
    List<KeyOrder> all = new ArrayList<>();
    for (KeyOrder first : firsts) {
      for (KeyOrder second : seconds) {
        all.add(new KeyOrder.Pairs(first, second));
      }
    }
    return all;
  }

  /**
   * Those of {@code candidates} that agree with {@code comparator} on the sample, in the same order.
   *
   * @param rows whose keys all have a prefix in every candidate; at least one
   */
  static <K> List<KeyOrder> agreeing(Comparator<? super K> comparator, List<KeyOrder> candidates, ResidentRows rows) {
    List<KeyOrder> possible = new ArrayList<>(candidates);
    RowKey left = new RowKey();
    RowKey right = new RowKey();
    K before = key(left, rows, 0);
    int count = Math.min(SAMPLE, rows.size());
    for (int i = 1; i < count && !possible.isEmpty(); i++) {
      K next = key(right, rows, (int) ((long) rows.size() * i / count));
      removeContradicted(possible, comparator.compare(before, next), left, right);
      RowKey swap = left;
      left = right;
      right = swap;
      before = next;
    }
    return possible;
  }

  /** Removes the orders that a comparator's answer for two keys contradicts. */
  static void removeContradicted(List<KeyOrder> orders, int answer, RowKey left, RowKey right) {
    orders.removeIf(order -> contradicts(answer, order.compare(left, right)));
  }

  /** Keys that are equal to the comparator may be in any order; {@link ProvenSorter} restores their own. */
  private static boolean contradicts(int answer, int guessed) {
    return answer > 0 && guessed <= 0 || answer < 0 && guessed >= 0;
  }

  /** Points {@code key} to a row's key, and makes the object of it. */
  @SuppressWarnings("unchecked") // Keys are of the class that the shuffle's are.
  private static <K> K key(RowKey key, ResidentRows rows, int index) {
    long address = rows.address(index);
    key.pointTo(null, address, ResidentRows.bytes(address));
    return (K) key.object();
  }
}
