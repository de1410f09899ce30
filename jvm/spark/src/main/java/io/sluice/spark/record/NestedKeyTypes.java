package io.sluice.spark.record;

/**
 * Which keys with nested parts may be compared by their bytes, as {@link KeyTypes}: those of one structure whose
 * classes are all equal by what is written of them. That excludes fractions, byte arrays, and Scala's big numbers,
 * which equal numbers of other classes. Elements of tuples may be null. Scala's pairs of two numbers equal other pairs,
 * but are other bytes, so they must be in the same places as in the first key. One thread.
 */
final class NestedKeyTypes {
  private final RowKey key = new RowKey();
  /** Of the first key, with the tags of elements that were null and were not later; null before it. */
  private byte[] tags;
  private long specialized;

  /** Whether the key of the row of {@code rowBytes} at {@code offset} in {@code base} is like those before it. */
  boolean isExact(Object base, long offset, int rowBytes) {
    key.pointTo(base, offset, rowBytes);
    return key.tags() > 0 && (tags == null ? isFirst() : isLikeFirst());
  }

  private boolean isFirst() {
    byte[] found = new byte[key.tags()];
    for (int i = 0; i < found.length; i++) {
      found[i] = (byte) key.tag(i);
      if (!isExact(found[i])) {
        return false;
      }
    }
    tags = found;
    specialized = key.specialized();
    return true;
  }

  private boolean isLikeFirst() {
    if (key.tags() != tags.length || key.specialized() != specialized) {
      return false;
    }
    for (int i = 0; i < tags.length; i++) {
      int tag = key.tag(i);
      if (tag != tags[i] && !mayReplace(tag, i)) {
        return false;
      }
    }
    return true;
  }

  /** Null may be in the place of any class, and an exact class in the place of null. */
  private boolean mayReplace(int tag, int index) {
    if (tag == NestedTag.NULL) {
      return !KeyStructure.isTuple(tags[index]);
    }
    boolean wasNull = tags[index] == NestedTag.NULL && !KeyStructure.isTuple(tag) && isExact(tag);
    if (wasNull) {
      tags[index] = (byte) tag;
    }
    return wasNull;
  }

  private static boolean isExact(int tag) {
    return KeyStructure.isTuple(tag) || switch (tag) {
      case NestedTag.FLOAT, NestedTag.DOUBLE, NestedTag.BYTES, NestedTag.FLOAT_WRITABLE, NestedTag.DOUBLE_WRITABLE,
          NestedTag.BIG_INT, NestedTag.SCALA_BIG_DECIMAL -> false;
      default -> true;
    };
  }
}
