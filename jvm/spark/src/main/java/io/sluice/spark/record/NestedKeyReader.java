package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import io.sluice.spark.record.KeyPart.Kind;
import org.apache.spark.unsafe.Platform;

/** Finds the parts of a key in the bytes of a nested value ({@link NestedTag}), without making its objects. One thread. */
final class NestedKeyReader {
  private final NestedInput in = new NestedInput();

  /**
   * Adds the parts of the value in {@code bytes} bytes at {@code offset} in {@code object} (null: at that address).
   *
   * @return false when it holds a class that has no parts, or when the bytes are damaged
   */
  boolean read(RowKey key, Object object, long offset, int bytes) {
    in.open(object, offset, bytes);
    try {
      return value(key, 0);
    } catch (SluiceException damaged) {
      // The decoder reports it when it is asked for the object.
      return false;
    }
  }

  private boolean value(RowKey key, int depth) {
    int tag = in.tag();
    return switch (tag) {
      case NestedTag.INTEGER -> key.addNumber(tag, Kind.INTEGER, (int) in.signed());
      case NestedTag.LONG -> key.addNumber(tag, Kind.LONG, in.signed());
      case NestedTag.LATIN1 -> bytes(key, tag, Kind.LATIN1, Byte.BYTES);
      case NestedTag.UTF16 -> bytes(key, NestedTag.LATIN1, Kind.UTF16, Character.BYTES);
      case NestedTag.TUPLE2, NestedTag.SPECIALIZED -> tuple(key, 2, depth);
      case NestedTag.TUPLE3 -> tuple(key, 3, depth);
      case NestedTag.TUPLE4 -> tuple(key, 4, depth);
      case NestedTag.TUPLE5 -> tuple(key, 5, depth);
      case NestedTag.TUPLE -> tuple(key, in.count(1), depth);
      default -> tag < NestedTag.BYTES ? scalar(key, tag) : other(key, tag);
    };
  }

  private boolean tuple(RowKey key, int elements, int depth) {
    if (depth >= NestedTag.MOST_DEPTH || elements > Tuples.MOST_PARTS || !key.beginTuple(elements)) {
      return false;
    }
    for (int i = 0; i < elements; i++) {
      if (!value(key, depth + 1)) {
        return false;
      }
    }
    return true;
  }

  private boolean scalar(RowKey key, int tag) {
    return switch (tag) {
      case NestedTag.FALSE -> key.addNumber(NestedTag.TRUE, Kind.BOOLEAN, 0);
      case NestedTag.TRUE -> key.addNumber(tag, Kind.BOOLEAN, 1);
      case NestedTag.BYTE -> key.addNumber(tag, Kind.BYTE, Platform.getByte(in.base(), in.take(Byte.BYTES)));
      case NestedTag.SHORT -> key.addNumber(tag, Kind.SHORT, Platform.getShort(in.base(), in.take(Short.BYTES)));
      case NestedTag.CHARACTER ->
          key.addNumber(tag, Kind.CHARACTER, (char) Platform.getShort(in.base(), in.take(Short.BYTES)));
      case NestedTag.FLOAT -> key.addNumber(tag, Kind.FLOAT, Platform.getInt(in.base(), in.take(Integer.BYTES)));
      case NestedTag.DOUBLE -> key.addNumber(tag, Kind.DOUBLE, Platform.getLong(in.base(), in.take(Long.BYTES)));
      default -> false;
    };
  }

  private boolean other(RowKey key, int tag) {
    return switch (tag) {
      case NestedTag.BYTES, NestedTag.TEXT, NestedTag.BYTES_WRITABLE -> bytes(key, tag, Kind.BYTES, Byte.BYTES);
      case NestedTag.BYTE_WRITABLE -> key.addNumber(tag, Kind.BYTE, (byte) in.signed());
      case NestedTag.SHORT_WRITABLE -> key.addNumber(tag, Kind.SHORT, (short) in.signed());
      case NestedTag.INT_WRITABLE, NestedTag.V_INT_WRITABLE -> key.addNumber(tag, Kind.INTEGER, (int) in.signed());
      case NestedTag.LONG_WRITABLE, NestedTag.V_LONG_WRITABLE, NestedTag.DATE, NestedTag.JAVA_DATE,
          NestedTag.LOCAL_DATE ->
          key.addNumber(tag, Kind.LONG, in.signed());
      case NestedTag.LOCAL_TIME -> key.addNumber(tag, Kind.LONG, in.number());
      case NestedTag.FLOAT_WRITABLE ->
          key.addNumber(tag, Kind.FLOAT, Platform.getInt(in.base(), in.take(Integer.BYTES)));
      case NestedTag.DOUBLE_WRITABLE ->
          key.addNumber(tag, Kind.DOUBLE, Platform.getLong(in.base(), in.take(Long.BYTES)));
      case NestedTag.BOOLEAN_WRITABLE ->
          key.addNumber(tag, Kind.BOOLEAN, Platform.getByte(in.base(), in.take(Byte.BYTES)));
      case NestedTag.TIMESTAMP, NestedTag.INSTANT, NestedTag.DURATION ->
          key.addNumbers(tag, Kind.LONG, in.signed(), Kind.INTEGER, in.number());
      case NestedTag.LOCAL_DATE_TIME -> key.addNumbers(tag, Kind.LONG, in.signed(), Kind.LONG, in.number());
      case NestedTag.UUID -> key.addNumbers(tag, Kind.LONG, word(), Kind.LONG, word());
      case NestedTag.BIG_INTEGER, NestedTag.BIG_INT -> decimal(key, tag, 0);
      case NestedTag.BIG_DECIMAL, NestedTag.SCALA_BIG_DECIMAL -> decimal(key, tag, (int) in.signed());
      default -> false;
    };
  }

  private long word() {
    return Platform.getLong(in.base(), in.take(Long.BYTES));
  }

  private boolean bytes(RowKey key, int tag, Kind kind, int elementBytes) {
    int bytes = in.count(elementBytes) * elementBytes;
    return key.addBytes(tag, kind, in.base(), in.take(bytes), bytes);
  }

  private boolean decimal(RowKey key, int tag, int scale) {
    int bytes = in.count(1);
    return bytes > 0 && key.addDecimal(tag, scale, in.base(), in.take(bytes), bytes);
  }
}
