package io.sluice.spark.record;

import org.apache.spark.serializer.Serializer;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;

/**
 * Makes a row of a key and a value: see {@link RecordShape} for its content, and the package for its layout. The
 * row is in {@link #buffer} until the next call. One thread.
 */
public final class RecordEncoder {
  /**
   * Largest row, in bytes: small enough for any memory limit. Larger records are serialized and cut into several rows.
   */
  static final int MAX_ROW_BYTES = 4 << 20;
  /** Most serialized bytes of a row. */
  static final int MAX_SERIALIZED_BYTES = MAX_ROW_BYTES - 1024;

  /** Where a {@code char[]}'s elements start: elements of the same size start at the same place. */
  static final int CHAR_ARRAY_OFFSET = Platform.SHORT_ARRAY_OFFSET;

  private static final int MOST_PARTS = 4;
  private static final int WORD = 8;
  private static final int FIRST_BYTES = 1024;
  /** Buffers that a large record made larger than this are not kept for small ones. */
  private static final int KEEP_BYTES = 1 << 20;
  private static final int OFFSET_SHIFT = 32;
  private static final long SIZE_MASK = 0xFFFF_FFFFL;

  private byte[] buffer = new byte[FIRST_BYTES];
  private char[] chars = new char[FIRST_BYTES];
  /** The most fields that a row had: all later ones have as many, because pages hold rows of one number of fields. */
  private int fields;
  private int length;
  /** Where the next part's word and bytes go, in bytes from the row's start. */
  private int wordAt;
  private int bytesAt;
  /** Null when all classes that are no flat parts are serialized. */
  private final NestedWriter nested;
  /** Where the nested parts of the record end in {@link #nested}, in their order. */
  private final int[] nestedEnds = new int[MOST_PARTS];
  private int nestedParts;
  private int nestedPut;

  /** An encoder for flat parts only. */
  public RecordEncoder() {
    this(NestedClasses.NO_CLASSES);
  }

  private RecordEncoder(NestedClasses classes) {
    nested = classes == NestedClasses.NO_CLASSES ? null : new NestedWriter(classes);
  }

  /**
   * An encoder for what {@code serializer} would give back as it was.
   *
   * @param flatPartsAreSparks of {@link ShuffleSerializers}: true spares the lookup of flat parts
   */
  public static RecordEncoder of(Serializer serializer, boolean flatPartsAreSparks) {
    return new RecordEncoder(NestedClasses.of(serializer, flatPartsAreSparks));
  }

  /** An encoder of rows that are looked at where they are made, and not in place of a serializer's bytes. */
  public static RecordEncoder ofAllClasses() {
    return new RecordEncoder(NestedClasses.ALL_CLASSES);
  }

  /**
   * Makes the row of a record.
   *
   * @return false when key or value is of a class that has no shape, or too large; the buffer is then undefined
   */
  public boolean encode(Object key, Object value) {
    boolean keyPair = Pairs.isPair(key);
    boolean valuePair = Pairs.isPair(value);
    Object key1 = keyPair ? ((Tuple2<?, ?>) key)._1() : key;
    Object key2 = keyPair ? ((Tuple2<?, ?>) key)._2() : null;
    Object value1 = valuePair ? ((Tuple2<?, ?>) value)._1() : value;
    Object value2 = valuePair ? ((Tuple2<?, ?>) value)._2() : null;
    if (keyPair && !mayBeMade(key) || valuePair && !mayBeMade(value)) {
      return false;
    }
    int k1 = code(key1);
    int k2 = keyPair ? code(key2) : PartType.NONE;
    int v1 = code(value1);
    int v2 = valuePair ? code(value2) : PartType.NONE;
    nestedParts = 0;
    if ((k1 | k2 | v1 | v2) < 0) {
      startNested();
      k1 = nestedCode(k1, key1);
      k2 = nestedCode(k2, key2);
      endNestedKey();
      v1 = nestedCode(v1, value1);
      v2 = nestedCode(v2, value2);
      if ((k1 | k2 | v1 | v2) < 0) {
        return false;
      }
    }
    if (isShared(key1, k1, value1, value2) || isShared(key2, k2, value1, value2)
        || v1 == PartType.BYTES && value1 == value2 || k1 == PartType.BYTES && key1 == key2) {
      return false;
    }
    fields = Math.max(fields, 1 + words(k1) + words(k2) + words(v1) + words(v2));
    long bytes = headBytes(fields) + slot(k1, key1) + slot(k2, key2) + slot(v1, value1) + slot(v2, value2)
        + nestedSlots();
    if (bytes > MAX_ROW_BYTES) {
      return false;
    }
    start(bytes);
    putWord(RecordShape.of(k1, k2, keyPair && key.getClass() != Tuple2.class,
        v1, v2, valuePair && value.getClass() != Tuple2.class));
    put(k1, key1);
    put(k2, key2);
    put(v1, value1);
    put(v2, value2);
    fill();
    return true;
  }

  /** Whether the serializer would give back a pair of this class: Kryo may not know all specialized ones. */
  private boolean mayBeMade(Object pair) {
    return pair.getClass() == Tuple2.class || nested == null || nested.classes().allow(NestedTag.SPECIALIZED, pair);
  }

  /** Whether a byte array is a part of the value too: serializers give back one array for both. */
  private static boolean isShared(Object part, int code, Object value1, Object value2) {
    return code == PartType.BYTES && (part == value1 || part == value2);
  }

  /**
   * Makes the row of serialized records, or of a part of their bytes: {@code size} bytes of {@code body} from index
   * {@code from}, then all of {@code tail}.
   *
   * @param records their number, or 0 if their bytes continue in the next row
   * @param size with the tail's at most {@link #MAX_SERIALIZED_BYTES}
   */
  void encodeSerialized(int records, HeapBytes body, int from, int size, HeapBytes tail) {
    fields = Math.max(fields, 3);
    int all = size + tail.size();
    start(headBytes(fields) + round(all));
    putWord(RecordShape.SERIALIZED);
    putWord(records);
    pad(all);
    System.arraycopy(body.array(), from, buffer, bytesAt, size);
    System.arraycopy(tail.array(), 0, buffer, bytesAt + size, tail.size());
    putSlot(all);
    fill();
  }

  /** Holds the row, from index 0 on. */
  public byte[] buffer() {
    return buffer;
  }

  /** The row's length in bytes, a multiple of 8. */
  public int length() {
    return length;
  }

  /** Number of the row's fields. */
  public int fields() {
    return fields;
  }

  /** The part's code, with strings told apart; leaves a string's characters in {@link #chars}. */
  private int code(Object part) {
    int code = PartType.of(part);
    return code == PartType.LATIN1 ? textCode((String) part) : code;
  }

  private int textCode(String text) {
    if (text.length() > MAX_ROW_BYTES) {
      return PartType.UNKNOWN;
    }
    int n = loadChars(text);
    int all = 0;
    for (int i = 0; i < n; i++) {
      all |= chars[i];
    }
    return all <= 0xFF ? PartType.LATIN1 : PartType.UTF16;
  }

  private int loadChars(String text) {
    int n = text.length();
    if (chars.length > KEEP_BYTES && n <= KEEP_BYTES) {
      chars = new char[n];
    }
    if (n > chars.length) {
      chars = new char[Math.max(n, 2 * chars.length)];
    }
    text.getChars(0, n, chars, 0);
    return n;
  }

  private void startNested() {
    nestedPut = 0;
    if (nested != null) {
      nested.start();
    }
  }

  private void endNestedKey() {
    if (nested != null) {
      nested.endKey();
    }
  }

  /** The code of a part that is not flat, or {@code code} if it is; leaves its bytes in {@link #nested}. */
  private int nestedCode(int code, Object part) {
    if (code == PartType.BYTES && nested != null) {
      return nested.noteFlat(part) ? code : PartType.UNKNOWN;
    }
    if (code != PartType.UNKNOWN || nested == null || !nested.write(part)) {
      return code;
    }
    nestedEnds[nestedParts++] = nested.size();
    return PartType.NESTED;
  }

  private int nestedStart(int part) {
    return part == 0 ? 0 : nestedEnds[part - 1];
  }

  private long nestedSlots() {
    long bytes = 0;
    for (int i = 0; i < nestedParts; i++) {
      bytes += round(nestedEnds[i] - nestedStart(i));
    }
    return bytes;
  }

  private void putNested() {
    int from = nestedStart(nestedPut);
    putBytes(nested.array(), Platform.BYTE_ARRAY_OFFSET + from, nestedEnds[nestedPut++] - from);
  }

  private static int words(int code) {
    return PartType.hasWord(code) ? 1 : 0;
  }

  private static long headBytes(int fields) {
    return WORD + (long) WORD * fields;
  }

  private static long round(long bytes) {
    return (bytes + WORD - 1) / WORD * WORD;
  }

  /** Bytes of the part in the row's variable-length portion. */
  private static long slot(int code, Object part) {
    return switch (code) {
      case PartType.BYTES -> round(((byte[]) part).length);
      case PartType.LATIN1 -> round(((String) part).length());
      case PartType.UTF16 -> round(2L * ((String) part).length());
      default -> 0;
    };
  }

  /** Zeroes the words of fields that this record does not have. */
  private void fill() {
    int end = (int) headBytes(fields);
    while (wordAt < end) {
      putWord(0);
    }
  }

  private void start(long bytes) {
    length = (int) bytes;
    if (buffer.length > KEEP_BYTES && length <= KEEP_BYTES) {
      buffer = new byte[length];
    }
    if (length > buffer.length) {
      buffer = new byte[(int) Math.max(bytes, 2L * buffer.length)];
    }
    wordAt = WORD;
    bytesAt = (int) headBytes(fields);
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET, 0);
  }

  private void putWord(long word) {
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + wordAt, word);
    wordAt += WORD;
  }

  private void put(int code, Object part) {
    switch (code) {
      case PartType.BYTES -> putBytes(part, Platform.BYTE_ARRAY_OFFSET, ((byte[]) part).length);
      case PartType.LATIN1 -> putLatin1((String) part);
      case PartType.UTF16 -> putBytes(chars, CHAR_ARRAY_OFFSET, 2 * loadChars((String) part));
      case PartType.BOOLEAN -> putWord((Boolean) part ? 1 : 0);
      case PartType.CHARACTER -> putWord((Character) part);
      case PartType.FLOAT -> putWord(Float.floatToRawIntBits((Float) part) & SIZE_MASK);
      case PartType.DOUBLE -> putWord(Double.doubleToRawLongBits((Double) part));
      case PartType.BYTE, PartType.SHORT, PartType.INTEGER, PartType.LONG -> putWord(((Number) part).longValue());
      case PartType.NULL, PartType.UNIT -> putWord(0);
      case PartType.NESTED -> putNested();
      default -> {
        // NONE has nothing.
      }
    }
  }

  @SuppressWarnings("deprecation") // The method that drops the high bytes is right here: they are known to be 0.
  private void putLatin1(String text) {
    int n = text.length();
    pad(n);
    text.getBytes(0, n, buffer, bytesAt);
    putSlot(n);
  }

  private void putBytes(Object base, long offset, int n) {
    pad(n);
    Platform.copyMemory(base, offset, buffer, Platform.BYTE_ARRAY_OFFSET + bytesAt, n);
    putSlot(n);
  }

  /** Zeroes the last word of a slot of {@code n} bytes. */
  private void pad(int n) {
    if (n % WORD != 0) {
      Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + bytesAt + n / WORD * WORD, 0);
    }
  }

  private void putSlot(int n) {
    putWord((long) bytesAt << OFFSET_SHIFT | n);
    bytesAt += (int) round(n);
  }
}
