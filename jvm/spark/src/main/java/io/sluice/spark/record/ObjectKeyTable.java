package io.sluice.spark.record;

import java.util.Arrays;
import java.util.function.ToIntFunction;
import scala.runtime.BoxesRunTime;
import scala.runtime.Statics;

/**
 * A hash table of keys that are objects: it numbers distinct keys in the order in which they first came. Keys are one
 * where {@code equals} says so, asked of the newer key about the older, as in Spark's {@code AppendOnlyMap}. One
 * thread.
 *
 * <p>In map tasks Spark's map has pairs of partition and key, which Scala compares as numbers: there {@code 1} is one
 * key with {@code 1L}, and {@code 0.0} with {@code -0.0}, if they are in one partition.
 *
 * <pre>
 *   slots:  | hash (4), number + 1 (4) | …      open addressing, linear probing, at most half full
 *   keys:   by number
 * </pre>
 */
public final class ObjectKeyTable implements DistinctKeys {
  /** Most keys that {@link #findAll} looks for in one call. */
  public static final int AT_ONCE = 32;

  private static final int FIRST_KEYS = 32;
  private static final int MOST_KEYS = 1 << 28;
  private static final int HASH_SHIFT = 32;
  private static final Object[] NO_OBJECTS = {};

  private long[] slots = new long[2 * FIRST_KEYS];
  private Object[] keys = new Object[FIRST_KEYS];
  private int size;
  private int nullNumber = -1;
  /** Of the keys that {@link #findAll} looks for: hash codes, first slots, and the keys of these hash codes here. */
  private final int[] hashes = new int[AT_ONCE];
  private final long[] found = new long[AT_ONCE];
  private final Object[] others = new Object[AT_ONCE];
  /** The partition of a key; null where keys are compared by {@code equals} alone. */
  private final ToIntFunction<Object> partitions;

  /** A table of keys that are compared by {@code equals}. */
  public ObjectKeyTable() {
    this(null);
  }

  /** @param partitions the partition of a key, for a table as Spark has it in map tasks; null for another */
  public ObjectKeyTable(ToIntFunction<Object> partitions) {
    this.partitions = partitions;
  }

  /**
   * Looks for keys, of which it adds none. Where the table is larger than the caches, the look-ups of one key wait for
   * memory one after the other; those of several keys wait together.
   *
   * @param some the keys
   * @param numbers takes their numbers; -1 for a key that {@link #find} must be asked for
   * @param count of the keys, at most {@link #AT_ONCE}
   */
  public void findAll(Object[] some, int[] numbers, int count) {
    // What an iteration of a loop reads does not depend on the iteration before, so the processor reads for several.
    for (int i = 0; i < count; i++) {
      hashes[i] = hash(some[i]);
      found[i] = slots[mix(hashes[i]) & slots.length - 1];
    }
    for (int i = 0; i < count; i++) {
      numbers[i] = firstOf(hashes[i], found[i]);
      others[i] = numbers[i] < 0 ? null : keys[numbers[i]];
    }
    for (int i = 0; i < count; i++) {
      if (numbers[i] >= 0 && !isEqual(some[i], others[i])) {
        numbers[i] = -1;
      }
    }
  }

  /** The number of the first key with this hash code, from the slot where it should be; -1 if there is none. */
  private int firstOf(int hash, long slot) {
    int mask = slots.length - 1;
    int at = mix(hash) & mask;
    for (long here = slot; here != 0; here = slots[at]) {
      if ((int) (here >>> HASH_SHIFT) == hash) {
        return (int) here - 1;
      }
      at = at + 1 & mask;
    }
    return -1;
  }

  /**
   * Looks for {@code key}; not when the table {@link #isFull}.
   *
   * @return its number; if it is new, the bitwise complement of the number that it now has
   */
  public int find(Object key) {
    int hash = hash(key);
    int mask = slots.length - 1;
    int at = mix(hash) & mask;
    for (long slot = slots[at]; slot != 0; slot = slots[at]) {
      if ((int) (slot >>> HASH_SHIFT) == hash) {
        int number = (int) slot - 1;
        if (isEqual(key, keys[number])) {
          return number;
        }
      }
      at = at + 1 & mask;
    }
    return add(at, hash, key);
  }

  private int hash(Object key) {
    return key == null ? 0 : comparesAsNumber(key) ? Statics.anyHash(key) : key.hashCode();
  }

  private boolean comparesAsNumber(Object key) {
    return partitions != null && (key instanceof Number || key instanceof Character);
  }

  private boolean isEqual(Object key, Object other) {
    return other == key || key != null && other != null && (key.equals(other) || comparesAsNumber(key)
        && BoxesRunTime.equals(key, other) && partitions.applyAsInt(key) == partitions.applyAsInt(other));
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
