package io.sluice.spark.record;

import java.util.Arrays;

/**
 * A hash table of keys that are objects: it numbers distinct keys in the order in which they first came. Keys are one
 * where {@code equals} says so, asked of the newer key about the older, as in Spark's {@code AppendOnlyMap}. One
 * thread.
 *
 * <pre>
 *   slots:  | hash (4), number + 1 (4) | …      open addressing, linear probing, at most half full
 *   keys:   by number
 * </pre>
 */
public final class ObjectKeyTable implements DistinctKeys {
  private static final int FIRST_KEYS = 32;
  private static final int MOST_KEYS = 1 << 28;
  private static final int HASH_SHIFT = 32;
  private static final Object[] NO_OBJECTS = {};

  private long[] slots = new long[2 * FIRST_KEYS];
  private Object[] keys = new Object[FIRST_KEYS];
  private int size;
  private int nullNumber = -1;

  /**
   * Looks for {@code key}; not when the table {@link #isFull}.
   *
   * @return its number; if it is new, the bitwise complement of the number that it now has
   */
  public int find(Object key) {
    int hash = key == null ? 0 : key.hashCode();
    int mask = slots.length - 1;
    int at = mix(hash) & mask;
    for (long slot = slots[at]; slot != 0; slot = slots[at]) {
      if ((int) (slot >>> HASH_SHIFT) == hash) {
        int number = (int) slot - 1;
        Object other = keys[number];
        if (other == key || key != null && other != null && key.equals(other)) {
          return number;
        }
      }
      at = at + 1 & mask;
    }
    return add(at, hash, key);
  }

  /** Whether there is no room for another key. */
  public boolean isFull() {
    return size == MOST_KEYS;
  }

  /** Spreads hash codes over all bits: those of numbers are alike, and those of a partition have one remainder. */
  private static int mix(int hash) {
    int mixed = (hash ^ hash >>> 16) * 0x85EBCA6B;
    mixed = (mixed ^ mixed >>> 13) * 0xC2B2AE35;
    return mixed ^ mixed >>> 16;
  }

  private int add(int at, int hash, Object key) {
    if (size == keys.length) {
      keys = Arrays.copyOf(keys, 2 * size);
    }
    keys[size] = key;
    if (key == null) {
      nullNumber = size;
    }
    size++;
    slots[at] = (long) hash << HASH_SHIFT | size;
    if (2 * size > slots.length) {
      grow();
    }
    return ~(size - 1);
  }

  private void grow() {
    long[] old = slots;
    slots = new long[2 * old.length];
    int mask = slots.length - 1;
    for (long slot : old) {
      if (slot != 0) {
        int at = mix((int) (slot >>> HASH_SHIFT)) & mask;
        while (slots[at] != 0) {
          at = at + 1 & mask;
        }
        slots[at] = slot;
      }
    }
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public Object key(int number) {
    return keys[number];
  }

  @Override
  public int[] hashCodes() {
    int[] hashes = new int[size];
    for (long slot : slots) {
      if (slot != 0) {
        hashes[(int) slot - 1] = (int) (slot >>> HASH_SHIFT);
      }
    }
    return hashes;
  }

  @Override
  public int nullNumber() {
    return nullNumber;
  }

  @Override
  public void clear() {
    slots = new long[0];
    keys = NO_OBJECTS;
    size = 0;
  }

  @Override
  public long heapBytes() {
    return (long) Long.BYTES * slots.length;
  }

  @Override
  public Object[] objects() {
    return keys;
  }
}
