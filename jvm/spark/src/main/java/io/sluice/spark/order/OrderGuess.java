package io.sluice.spark.order;

import io.sluice.spark.record.KeyPart;
import io.sluice.spark.record.KeyStructure;
import io.sluice.spark.record.RowKey;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Guesses how a comparator orders keys, of which nothing is known but its answers: by the parts of the keys, in some
 * sequence, each by one of some usual orders, so that no answer is contradicted. A guess may be wrong, so whoever uses
 * it asks the comparator about the result, and notes the answers here for the next guess.
 *
 * <p>An answer is kept as what it says of each part: nothing, where the part is the same in both keys; else which of the
 * part's orders agree with it. To guess, any part is taken that has an order that agrees with all answers, the first if
 * there are several; then the answers that it explains are done with, and the rest is for the other parts. If the
 * comparator does order by the parts in some sequence, this finds a sequence that explains all answers.
 *
 * <p>All orders of a part call the same keys equal. One thread.
 */
final class OrderGuess {
  /** Keys that are compared with each other, one with the next. */
  private static final int SAMPLE = 64;
  /** Says of a part that it is the same in both keys. */
  private static final byte SAME = -1;

  private final KeyStructure structure;
  /** For each part its orders, the likeliest first. */
  private final List<List<PartOrder>> candidates = new ArrayList<>();
  /** For each answer a byte of each part: {@link #SAME}, or a bit of each of its orders that agree. */
  private final Set<ByteBuffer> answers = new LinkedHashSet<>();

  private OrderGuess(RowKey sample) {
    structure = sample.structure();
    for (int part = 0; part < structure.parts(); part++) {
      candidates.add(candidates(sample.part(part)));
    }
  }

  /** For keys like {@code sample}; empty when they have no parts. */
  static Optional<OrderGuess> of(RowKey sample) {
    return sample.hasParts() ? Optional.of(new OrderGuess(sample)) : Optional.empty();
  }

  private static List<PartOrder> candidates(KeyPart part) {
    List<PartOrder> forwards = new ArrayList<>(List.of(KeyOrders.natural(part.kind())));
    switch (part.kind()) {
      case BYTES -> forwards.add(new PartOrder.SignedBytes());
      case BYTE, SHORT, INTEGER, LONG ->
          forwards.add(new PartOrder.Numbers(PartOrder.Numbers.of(part.kind()).bits(), false));
      default -> {}
    }
    List<PartOrder> all = new ArrayList<>();
    for (PartOrder order : forwards) {
      all.add(order);
      all.add(new PartOrder.Reversed(order));
    }
    return all;
  }

  /** How many parts a key has. */
  int parts() {
    return candidates.size();
  }

  /** Asks {@code comparator} about a sample of the rows' keys. */
  <K> void ask(Comparator<? super K> comparator, ResidentRows rows) {
    RowKey left = new RowKey();
    RowKey right = new RowKey();
    K before = key(left, rows, 0);
    int count = Math.min(SAMPLE, rows.size());
    for (int i = 1; i < count; i++) {
      K next = key(right, rows, (int) ((long) rows.size() * i / count));
      note(comparator.compare(before, next), left, right);
      RowKey swap = left;
      left = right;
      right = swap;
      before = next;
    }
  }

  /** Points {@code key} to a row's key, and makes the object of it. */
  @SuppressWarnings("unchecked") // Keys are of the class that the shuffle's are.
  private static <K> K key(RowKey key, ResidentRows rows, int index) {
    long address = rows.address(index);
    key.pointTo(null, address, ResidentRows.bytes(address));
    return (K) key.object();
  }

  /** Notes the comparator's answer for two keys. Keys that it calls equal may be in any order. */
  void note(int answer, RowKey left, RowKey right) {
    if (answer == 0) {
      return;
    }
    byte[] noted = new byte[candidates.size()];
    for (int part = 0; part < noted.length; part++) {
      noted[part] = agreeing(answer, candidates.get(part), left.part(part), right.part(part));
    }
    answers.add(ByteBuffer.wrap(noted));
  }

  private static byte agreeing(int answer, List<PartOrder> orders, KeyPart left, KeyPart right) {
    byte agreeing = 0;
    for (int i = 0; i < orders.size(); i++) {
      int order = orders.get(i).compare(left, right);
      if (order == 0) {
        return SAME;
      }
      if (order > 0 == answer > 0) {
        agreeing |= (byte) (1 << i);
      }
    }
    return agreeing;
  }

  /** An order that agrees with all answers; empty when there is none. */
  Optional<OrderByParts> guess() {
    List<OrderByParts.Step> steps = new ArrayList<>();
    List<ByteBuffer> unexplained = new ArrayList<>(answers);
    List<Integer> left = new ArrayList<>();
    for (int part = 0; part < candidates.size(); part++) {
      left.add(part);
    }
    while (!left.isEmpty()) {
      int next = 0;
      while (next < left.size() && agreeing(left.get(next), unexplained) == 0) {
        next++;
      }
      if (next == left.size()) {
        break;
      }
      int part = left.remove(next);
      int order = Integer.numberOfTrailingZeros(agreeing(part, unexplained));
      steps.add(new OrderByParts.Step(part, candidates.get(part).get(order)));
      unexplained.removeIf(answer -> answer.get(part) != SAME);
    }
    return unexplained.isEmpty() ? Optional.of(new OrderByParts(structure, steps)) : Optional.empty();
  }

  /** The orders of a part that agree with all of {@code answers}, a bit of each; all, if they say nothing of it. */
  private int agreeing(int part, Collection<ByteBuffer> answers) {
    int agreeing = (1 << candidates.get(part).size()) - 1;
    for (ByteBuffer answer : answers) {
      agreeing &= answer.get(part);
    }
    return agreeing;
  }
}
