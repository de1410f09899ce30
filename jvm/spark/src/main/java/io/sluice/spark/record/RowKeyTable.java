package io.sluice.spark.record;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/**
 * A hash table of the keys of rows: it numbers distinct keys in the order in which they first came. Keys are hashed and
 * compared as they lie in their rows; an object is made of a key only by {@link #key}.
 *
 * <pre>
 *   slots:    | hash (4), number + 1 (4) | …      open addressing, linear probing, at most half full
 *   entries:  | types, word | …                   by number; a word of text or of a pair says where its bytes are
 *   bytes:    | bytes of text | … | words and bytes of a pair | …
 * </pre>
 *
 * <p>Two keys have one number if and only if their objects are equal in Java's sense, which {@link KeyTypes} answers
 * for: it refuses keys whose bytes cannot tell. One thread.
 */
public final class RowKeyTable implements DistinctKeys {
  /** The answer of {@link #find} for a key that this table does not take, or has no room for. */
  public static final int REFUSED = Integer.MIN_VALUE;

  private static final int WORD = 8;
  private static final int SHAPE_AT = WORD;
  private static final int KEY_AT = SHAPE_AT + WORD;
  private static final int OFFSET_SHIFT = 32;
  private static final int HASH_SHIFT = 32;
  private static final int FIRST_KEYS = 32;
  private static final int MOST_KEYS = 1 << 28;
  private static final int FIRST_BYTES = 1024;
  private static final int MOST_BYTES = 1 << 30;
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
  private static final Object[] NO_OBJECTS = {};
  private static final long ARRAY = Platform.BYTE_ARRAY_OFFSET;

  private final KeyTypes types = new KeyTypes();
  private final RecordDecoder decoder = new RecordDecoder();
  private long[] slots = new long[2 * FIRST_KEYS];
  private long[] entries = new long[2 * FIRST_KEYS];
  private byte[] bytes = new byte[FIRST_BYTES];
  private int bytesUsed;
  private int size;
  private int nullNumber = -1;
  /** The pair that is looked for, as it is stored; in {@link #key}, the row that is decoded. */
  private byte[] scratch = new byte[FIRST_BYTES];

  /**
   * Looks for the key of the row of {@code rowBytes} at {@code offset} in {@code base} (null: at that address).
   *
   * @return its number; if it is new, the bitwise complement of the number that it now has; or {@link #REFUSED}
   */
  public int find(Object base, long offset, int rowBytes) {
    KeyTypes.Layout layout = types.layout(Platform.getLong(base, offset + SHAPE_AT));
    if (layout == KeyTypes.Layout.REFUSED || size == MOST_KEYS) {
      return REFUSED;
    }
    long word = Platform.getLong(base, offset + KEY_AT);
    if (layout == KeyTypes.Layout.WORD) {
      return findWord(word);
    }
    if (layout == KeyTypes.Layout.FRACTION) {
      return types.isOtherNaN(word) ? REFUSED : findWord(word);
    }
    if (layout.compareTo(KeyTypes.Layout.NESTED) >= 0 && !types.isExact(base, offset, rowBytes)) {
      return REFUSED;
    }
    if (layout == KeyTypes.Layout.TEXT || layout == KeyTypes.Layout.NESTED) {
      return isOutside(word, rowBytes) ? REFUSED : findBytes(base, offset + (word >>> OFFSET_SHIFT), (int) word);
    }
    int length = copyPair(base, offset, rowBytes);
    return length < 0 ? REFUSED : findBytes(scratch, ARRAY, length);
  }

  /** Frames have checksums, so this is a bug in Sluice, which the decoder reports when it makes the objects. */
  private static boolean isOutside(long word, int rowBytes) {
    return (int) word < 0 || (word >>> OFFSET_SHIFT) + round((int) word) > rowBytes;
  }

  private int findWord(long word) {
    long keyTypes = types.ofKey();
    int hash = mix(word ^ keyTypes * MULTIPLIER);
    int mask = slots.length - 1;
    int at = hash & mask;
    for (long slot = slots[at]; slot != 0; slot = slots[at]) {
      int entry = (int) slot - 1;
      if ((int) (slot >>> HASH_SHIFT) == hash && entries[2 * entry] == keyTypes && entries[2 * entry + 1] == word) {
        return entry;
      }
      at = at + 1 & mask;
    }
    return add(at, hash, word);
  }

  /** Looks for a key of {@code length} bytes, which are followed by zeros until a whole word. */
  private int findBytes(Object base, long offset, int length) {
    long keyTypes = types.ofKey();
    int hash = hash(base, offset, length, keyTypes);
    int mask = slots.length - 1;
    int at = hash & mask;
    for (long slot = slots[at]; slot != 0; slot = slots[at]) {
      int entry = (int) slot - 1;
      if ((int) (slot >>> HASH_SHIFT) == hash && entries[2 * entry] == keyTypes
          && isEqual(entries[2 * entry + 1], base, offset, length)) {
        return entry;
      }
      at = at + 1 & mask;
    }
    int room = round(length);
    if (bytesUsed + room > MOST_BYTES) {
      return REFUSED;
    }
    if (bytesUsed + room > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(bytesUsed + room, 2 * bytes.length));
    }
    Platform.copyMemory(base, offset, bytes, ARRAY + bytesUsed, room);
    int number = add(at, hash, (long) bytesUsed << OFFSET_SHIFT | length);
    bytesUsed += room;
    return number;
  }

  private static int hash(Object base, long offset, int length, long keyTypes) {
    long hash = keyTypes * MULTIPLIER + length;
    for (int i = 0; i < length; i += WORD) {
      hash = (hash ^ Platform.getLong(base, offset + i)) * MULTIPLIER;
      hash ^= hash >>> HASH_SHIFT;
    }
    return mix(hash);
  }

  private static int mix(long hash) {
    long mixed = hash * MULTIPLIER;
    mixed = (mixed ^ mixed >>> HASH_SHIFT) * MULTIPLIER;
    return (int) (mixed >>> HASH_SHIFT);
  }

  private boolean isEqual(long place, Object base, long offset, int length) {
    if ((int) place != length) {
      return false;
    }
    long stored = ARRAY + (place >>> OFFSET_SHIFT);
    for (int i = 0; i < length; i += WORD) {
      if (Platform.getLong(bytes, stored + i) != Platform.getLong(base, offset + i)) {
        return false;
      }
    }
    return true;
  }

  private int add(int at, int hash, long word) {
    if (2 * size == entries.length) {
      entries = Arrays.copyOf(entries, 2 * entries.length);
    }
    entries[2 * size] = types.ofKey();
    entries[2 * size + 1] = word;
    if (types.isNull()) {
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
        int at = (int) (slot >>> HASH_SHIFT) & mask;
        while (slots[at] != 0) {
          at = at + 1 & mask;
        }
        slots[at] = slot;
      }
    }
  }

  /**
   * Copies the pair that is the row's key to {@link #scratch}: a word of each part, which is its number or its length,
   * then the bytes of those that are text.
   *
   * @return how many bytes, or -1 when the row is damaged
   */
  private int copyPair(Object base, long offset, int rowBytes) {
    int used = 2 * WORD;
    for (int part = 0; part < 2; part++) {
      long word = Platform.getLong(base, offset + KEY_AT + part * WORD);
      if (!PartType.isVariable(types.part(part))) {
        Platform.putLong(scratch, ARRAY + part * WORD, word);
      } else if (isOutside(word, rowBytes)) {
        return -1;
      } else {
        int room = round((int) word);
        makeScratch(used + room);
        Platform.putLong(scratch, ARRAY + part * WORD, (int) word);
        Platform.copyMemory(base, offset + (word >>> OFFSET_SHIFT), scratch, ARRAY + used, room);
        used += room;
      }
    }
    return used;
  }

  private void makeScratch(int room) {
    if (room > scratch.length) {
      scratch = Arrays.copyOf(scratch, Math.max(room, 2 * scratch.length));
    }
  }

  private static int round(int length) {
    return length + WORD - 1 & -WORD;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public int nullNumber() {
    return nullNumber;
  }

  @Override
  public int[] hashCodes() {
    int[] hashes = new int[size];
    for (int number = 0; number < size; number++) {
      hashes[number] = hashCode(number);
    }
    return hashes;
  }

  private int hashCode(int number) {
    long keyTypes = entries[2 * number];
    long word = entries[2 * number + 1];
    if (RecordShape.key2(keyTypes) != PartType.NONE) {
      return key(number).hashCode();
    }
    return switch (RecordShape.key(keyTypes)) {
      case PartType.LATIN1 -> hashOfLatin1((int) (word >>> OFFSET_SHIFT), (int) word);
      case PartType.UTF16 -> hashOfUtf16((int) (word >>> OFFSET_SHIFT), (int) word);
      case PartType.INTEGER, PartType.SHORT, PartType.BYTE, PartType.CHARACTER -> (int) word;
      case PartType.LONG, PartType.DOUBLE -> Long.hashCode(word);
      case PartType.NULL -> 0;
      default -> key(number).hashCode();
    };
  }

  private int hashOfLatin1(int from, int length) {
    int hash = 0;
    for (int i = from; i < from + length; i++) {
      hash = 31 * hash + (bytes[i] & 0xFF);
    }
    return hash;
  }

  private int hashOfUtf16(int from, int length) {
    int hash = 0;
    for (int i = from; i < from + length; i += Character.BYTES) {
      hash = 31 * hash + (Platform.getShort(bytes, ARRAY + i) & 0xFFFF);
    }
    return hash;
  }

  @Override
  public void clear() {
    slots = new long[0];
    entries = new long[0];
    bytes = new byte[0];
    scratch = new byte[0];
    size = 0;
  }

  @Override
  public long heapBytes() {
    return (long) Long.BYTES * (slots.length + entries.length) + bytes.length + scratch.length;
  }

  @Override
  public Object[] objects() {
    return NO_OBJECTS;
  }

  @Override
  public Object key(int number) {
    long keyTypes = entries[2 * number];
    long word = entries[2 * number + 1];
    int length;
    if (RecordShape.key2(keyTypes) != PartType.NONE) {
      length = pairRow(keyTypes, word);
    } else if (PartType.isVariable(RecordShape.key(keyTypes))) {
      length = textRow(word);
    } else {
      length = KEY_AT + WORD;
      Platform.putLong(scratch, ARRAY + KEY_AT, word);
    }
    Platform.putLong(scratch, ARRAY + SHAPE_AT, KeyTypes.withoutValue(keyTypes));
    return decoder.key(scratch, ARRAY, length);
  }

  private int textRow(long place) {
    int bytesAt = KEY_AT + WORD;
    int length = (int) place;
    makeScratch(bytesAt + length);
    Platform.putLong(scratch, ARRAY + KEY_AT, (long) bytesAt << OFFSET_SHIFT | length);
    System.arraycopy(bytes, (int) (place >>> OFFSET_SHIFT), scratch, bytesAt, length);
    return bytesAt + length;
  }

  private int pairRow(long keyTypes, long place) {
    int from = (int) (place >>> OFFSET_SHIFT);
    int length = (int) place;
    makeScratch(KEY_AT + length);
    System.arraycopy(bytes, from, scratch, KEY_AT, length);
    int bytesAt = KEY_AT + 2 * WORD;
    int[] parts = {RecordShape.key(keyTypes), RecordShape.key2(keyTypes)};
    for (int part = 0; part < 2; part++) {
      if (PartType.isVariable(parts[part])) {
        int size = (int) Platform.getLong(bytes, ARRAY + from + part * WORD);
        Platform.putLong(scratch, ARRAY + KEY_AT + part * WORD, (long) bytesAt << OFFSET_SHIFT | size);
        bytesAt += round(size);
      }
    }
    return KEY_AT + length;
  }
}
