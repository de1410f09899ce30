package io.sluice.spark.record;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.unsafe.Platform;

/**
 * One part of a {@link RowKey}, looked at where it lies: a number, text or bytes. A class that two numbers make, as a
 * {@code Timestamp} of milliseconds and nanoseconds, has two parts. Valid as long as its key looks at the same row. One
 * thread.
 */
public final class KeyPart {
  /** What a part is compared as. */
  public enum Kind {
    BYTES(true), LATIN1(true), UTF16(true),
    /** 0 or 1. */
    BOOLEAN(false), BYTE(false), SHORT(false), CHARACTER(false), INTEGER(false), LONG(false),
    /** Numbers whose bits are stored. */
    FLOAT(false), DOUBLE(false),
    /** Two's complement bytes, high byte first, and how many decimal digits are behind the point. */
    DECIMAL(true);

    private final boolean variable;

    Kind(boolean variable) {
      this.variable = variable;
    }

    /** Whether a part is bytes of any number. */
    boolean isVariable() {
      return variable;
    }
  }

  /** Powers of ten that a double has exactly. */
  private static final double[] POWERS_OF_TEN = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
    1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  /** Whole numbers up to this one are doubles exactly. */
  private static final long MOST_EXACT = 1L << 53;
  /** A row begins with a word of bits and its shape, so that many bytes are before each part. */
  private static final int BYTES_BEFORE = Long.BYTES;

  private Kind kind;
  private long number;
  private Object base;
  private long bytesAt;
  private int length;

  void setNumber(Kind newKind, long value) {
    kind = newKind;
    number = value;
  }

  /** @param offset where the bytes are in {@code object} (null: at that address), in a row */
  void setBytes(Kind newKind, Object object, long offset, int bytes) {
    kind = newKind;
    base = object;
    bytesAt = offset;
    length = bytes;
  }

  void setDecimal(int scale, Object object, long offset, int bytes) {
    setBytes(Kind.DECIMAL, object, offset, bytes);
    number = scale;
  }

  public Kind kind() {
    return kind;
  }

  /** The value, when it is a whole number or a character; the bits of a fraction. */
  public long number() {
    return number;
  }

  /** Length in bytes, when it is bytes or text; text that is not Latin-1 has two a character. */
  public int length() {
    return length;
  }

  /**
   * Eight bytes, the first of them the highest; those past the end are 0.
   *
   * @param index of the first one, 0 or more
   */
  public long eightBytes(int index) {
    int missing = index + Long.BYTES - length;
    if (missing <= 0) {
      return Long.reverseBytes(Platform.getLong(base, bytesAt + index));
    }
    // The last eight bytes, of which some are before the part, moved up.
    return missing >= Long.BYTES ? 0
        : Long.reverseBytes(Platform.getLong(base, bytesAt + length - BYTES_BEFORE)) << Byte.SIZE * missing;
  }

  /** Number of UTF-16 units of text. */
  public int units() {
    return kind == Kind.UTF16 ? length / Character.BYTES : length;
  }

  /** One UTF-16 unit of text. */
  public char unit(int index) {
    return kind == Kind.UTF16 ? (char) Platform.getShort(base, bytesAt + (long) Character.BYTES * index)
        : (char) (byteAt(index) & 0xFF);
  }

  private byte byteAt(int index) {
    return Platform.getByte(base, bytesAt + index);
  }

  /** Compares two parts that are both {@link Kind#BYTES} or both {@link Kind#LATIN1}, byte by byte, unsigned. */
  public int compareBytes(KeyPart other) {
    int common = Math.min(length, other.length);
    // Bytes past the end compare as zeros, which is right until the lengths decide.
    for (int i = 0; i < common; i += Long.BYTES) {
      int order = Long.compareUnsigned(eightBytes(i), other.eightBytes(i));
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(length, other.length);
  }

  /** Compares two parts that are both {@link Kind#BYTES}, byte by byte, signed. */
  public int compareSignedBytes(KeyPart other) {
    int common = Math.min(length, other.length);
    for (int i = 0; i < common; i++) {
      int order = Byte.compare(byteAt(i), other.byteAt(i));
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(length, other.length);
  }

  /** Compares two parts that are text, unit by unit. */
  public int compareText(KeyPart other) {
    if (kind == Kind.LATIN1 && other.kind == Kind.LATIN1) {
      return compareBytes(other);
    }
    int common = Math.min(units(), other.units());
    for (int i = 0; i < common; i++) {
      int order = Character.compare(unit(i), other.unit(i));
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(units(), other.units());
  }

  /** A fraction as a {@code double}. */
  public double fraction() {
    return kind == Kind.FLOAT ? Float.intBitsToFloat((int) number) : Double.longBitsToDouble(number);
  }

  /**
   * The {@code double} next to a {@link Kind#DECIMAL}: numbers that are equal, of whatever scales, have the same one,
   * and a smaller number has no larger one.
   */
  public double nearestDouble() {
    long scale = number;
    if (length <= Long.BYTES && scale < POWERS_OF_TEN.length && scale > -POWERS_OF_TEN.length) {
      long digits = unscaled();
      if (digits <= MOST_EXACT && digits >= -MOST_EXACT) {
        // Both are exact, so the result is rounded once.
        return scale >= 0 ? digits / POWERS_OF_TEN[(int) scale] : digits * POWERS_OF_TEN[(int) -scale];
      }
    }
    return decimal().doubleValue();
  }

  /** Compares two parts that are {@link Kind#DECIMAL} by their values. */
  public int compareDecimal(KeyPart other) {
    if (number == other.number && length <= Long.BYTES && other.length <= Long.BYTES) {
      return Long.compare(unscaled(), other.unscaled());
    }
    return decimal().compareTo(other.decimal());
  }

  private long unscaled() {
    return Long.reverseBytes(Platform.getLong(base, bytesAt + length - BYTES_BEFORE))
        << Long.SIZE - Byte.SIZE * length >> Long.SIZE - Byte.SIZE * length;
  }

  private BigDecimal decimal() {
    byte[] digits = new byte[length];
    Platform.copyMemory(base, bytesAt, digits, Platform.BYTE_ARRAY_OFFSET, length);
    return new BigDecimal(new BigInteger(digits), (int) number);
  }
}
