package io.sluice.spark.record;

import java.util.IdentityHashMap;
import java.util.Map;

/**
 * The objects that a record refers to, to find one that it refers to twice: a serializer gives back one object for it,
 * and a copy of each reference would be two. One thread.
 */
final class SharedObjects {
  /** So many are compared with each other; more are looked up. */
  private static final int FEW = 16;
  /** A map that had more is not kept. */
  private static final int KEEP = 1024;

  private final Object[] few = new Object[FEW];
  private Map<Object, Boolean> many = new IdentityHashMap<>();
  private int count;

  /** Notes {@code object}; false if it was there. */
  boolean add(Object object) {
    if (count > FEW) {
      return many.put(object, true) == null;
    }
    for (int i = 0; i < count; i++) {
      if (few[i] == object) {
        return false;
      }
    }
    if (count < FEW) {
      few[count++] = object;
      return true;
    }
    count++;
    for (Object before : few) {
      many.put(before, true);
    }
    return many.put(object, true) == null;
  }

  /** Forgets all, for the next record. */
  void clear() {
    for (int i = 0; i < count && i < FEW; i++) {
      few[i] = null;
    }
    if (count > FEW) {
      if (many.size() > KEEP) {
        many = new IdentityHashMap<>();
      }
      many.clear();
    }
    count = 0;
  }
}
