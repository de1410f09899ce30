package io.sluice.systemtests;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.Collections;
import java.util.Comparator;
import scala.Tuple2;

/** A comparator that a job may write: one that Sluice knows, may guess, must refute, or whose answers mean nothing. */
final class KeyOrder implements Comparator<Object>, Serializable {
  private static final long serialVersionUID = 1L;
  private static final int BUCKETS = 7;
  /** One key of so many is {@link #isRare}. */
  private static final int RARE = 97;

  enum Kind {
    NATURAL, REVERSED,
    /** The natural order or another one, in the job's own words. */
    OPAQUE,
    /** Keys that are not equal have the same place. */
    WITH_TIES, THROWING,
    /** It remembers something from call to call; its answers are those of an order. */
    WITH_STATE,
    /** Its answers are those of no order. */
    INCONSISTENT
  }

  private final Kind kind;
  private final int variant;
  /** The text of the key that it throws at. */
  private final String poison;
  private int calls;

  /** @param variant which of the opaque orders, from 0 to 3 */
  KeyOrder(Kind kind, int variant, String poison) {
    this.kind = kind;
    this.variant = variant;
    this.poison = poison;
  }

  Kind kind() {
    return kind;
  }

  /** What a job gives to Spark. */
  @SuppressWarnings({"unchecked", "rawtypes"}) // The keys are of a class that has an order.
  Comparator<Object> comparator() {
    switch (kind) {
      case NATURAL :
        return (Comparator) Comparator.naturalOrder();
      case REVERSED :
        return (Comparator) Collections.reverseOrder();
      default :
        return this;
    }
  }

  /** Keys with the same text may have the same place. */
  String place(Object key) {
    if (kind == Kind.WITH_TIES) {
      return Integer.toString(bucket(key));
    }
    return key instanceof BigDecimal number ? number.stripTrailingZeros().toPlainString() : RecordText.of(key);
  }

  private static int bucket(Object key) {
    return Math.floorMod(RecordText.of(key).hashCode(), BUCKETS);
  }

  @Override
  public int compare(Object left, Object right) {
    switch (kind) {
      case WITH_TIES :
        return Integer.compare(bucket(left), bucket(right));
      case THROWING :
        throwAt(left);
        throwAt(right);
        return opaque(left, right);
      case WITH_STATE :
        calls++;
        return calls % 2 == 0 ? opaque(left, right) : -opaque(right, left);
      case INCONSISTENT :
        calls++;
        return calls % 5 == 0 ? -opaque(left, right) : opaque(left, right);
      default :
        return opaque(left, right);
    }
  }

  private void throwAt(Object key) {
    if (RecordText.of(key).equals(poison)) {
      throw new IllegalStateException("on purpose: a key that has no place");
    }
  }

  private int opaque(Object left, Object right) {
    switch (variant) {
      case 0 :
        return natural(left, right);
      case 1 :
        return natural(right, left);
      case 2 :
        return byLength(RecordText.of(left), RecordText.of(right));
      default :
        return rareLast(left, right);
    }
  }

  /** Nulls first; numbers, texts and bytes as a job sorts them, tuples by their fields, all others by their text. */
  @SuppressWarnings({"unchecked", "rawtypes"}) // Both are of the same class.
  private static int natural(Object left, Object right) {
    if (left == null || right == null) {
      return Boolean.compare(left != null, right != null);
    }
    if (left instanceof byte[] leftBytes && right instanceof byte[] rightBytes) {
      return unsigned(leftBytes, rightBytes);
    }
    if (left instanceof Tuple2<?, ?> leftPair && right instanceof Tuple2<?, ?> rightPair) {
      int first = natural(leftPair._1(), rightPair._1());
      return first != 0 ? first : natural(leftPair._2(), rightPair._2());
    }
    return left instanceof Comparable comparable && left.getClass() == right.getClass() ? comparable.compareTo(right)
        : RecordText.of(left).compareTo(RecordText.of(right));
  }

  private static int unsigned(byte[] left, byte[] right) {
    for (int i = 0; i < Math.min(left.length, right.length); i++) {
      if (left[i] != right[i]) {
        return Integer.compare(left[i] & 0xFF, right[i] & 0xFF);
      }
    }
    return Integer.compare(left.length, right.length);
  }

  private static int byLength(String left, String right) {
    int length = Integer.compare(left.length(), right.length());
    return length != 0 ? length : right.compareTo(left);
  }

  /** The natural order, but for some keys behind all others, which a sample hardly shows. */
  private static int rareLast(Object left, Object right) {
    int rare = Boolean.compare(isRare(left), isRare(right));
    return rare != 0 ? rare : natural(left, right);
  }

  private static boolean isRare(Object key) {
    return Math.floorMod(RecordText.of(key).hashCode(), RARE) == 0;
  }

  @Override
  public String toString() {
    return kind + " " + variant;
  }
}
