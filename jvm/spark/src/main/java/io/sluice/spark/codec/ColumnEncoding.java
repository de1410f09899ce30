package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;
import java.util.Arrays;

/** How the 64-bit values of a column are stored; in the order of the format's numbers. */
enum ColumnEncoding {
  CONST {
    @Override
    long[] read(PayloadInput in, int count, long head, boolean nested) {
      long[] values = new long[count];
      Arrays.fill(values, head);
      return values;
    }
  },
  /** Differences from a base. */
  REFERENCE {
    @Override
    long[] read(PayloadInput in, int count, long head, boolean nested) throws CorruptFrameException {
      long[] values = PackedValues.read(in, count, readWidth(in));
      long base = fromZigzag(head);
      for (int i = 0; i < count; i++) {
        values[i] += base;
      }
      return values;
    }
  },
  /** Differences from the value before. */
  DELTA {
    @Override
    long[] read(PayloadInput in, int count, long head, boolean nested) throws CorruptFrameException {
      long value = fromZigzag(in.readNumber(in.readByte("the size of a column's first value"), "a first value"));
      long step = fromZigzag(head);
      long[] differences = PackedValues.read(in, count - 1, readWidth(in));
      long[] values = new long[count];
      values[0] = value;
      for (int i = 1; i < count; i++) {
        value += step + differences[i - 1];
        values[i] = value;
      }
      return values;
    }
  },
  /** Only the bits that are not alike in all values. */
  MASK {
    @Override
    long[] read(PayloadInput in, int count, long head, boolean nested) throws CorruptFrameException {
      long mask = in.readLong("a column's mask");
      long[] values = PackedValues.read(in, count, Long.bitCount(mask));
      for (int i = 0; i < count; i++) {
        values[i] = head | spread(values[i], mask);
      }
      return values;
    }
  },
  /** Indexes into a column of the different values. */
  DICTIONARY {
    @Override
    long[] read(PayloadInput in, int count, long head, boolean nested) throws CorruptFrameException {
      if (nested) {
        throw new CorruptFrameException("the values of a dictionary are a dictionary");
      }
      int size = in.readByte("the size of a dictionary") + 1;
      long[] dictionary = readColumn(in, size, true);
      long[] values = PackedValues.read(in, count, Long.SIZE - Long.numberOfLeadingZeros(size - 1));
      for (int i = 0; i < count; i++) {
        if (values[i] >= size) {
          throw new CorruptFrameException("value " + values[i] + " of a dictionary of " + size);
        }
        values[i] = dictionary[(int) values[i]];
      }
      return values;
    }
  },
  RAW {
    @Override
    long[] read(PayloadInput in, int count, long head, boolean nested) throws CorruptFrameException {
      return PackedValues.read(in, count, Long.SIZE);
    }
  };

  private static final ColumnEncoding[] BY_NUMBER = values();

  abstract long[] read(PayloadInput in, int count, long head, boolean nested) throws CorruptFrameException;

  /** Reads a column of {@code count} values, at least 1. */
  static long[] readColumn(PayloadInput in, int count) throws CorruptFrameException {
    return readColumn(in, count, false);
  }

  static long[] readColumn(PayloadInput in, int count, boolean nested) throws CorruptFrameException {
    int tag = in.readByte("a column's tag");
    int number = tag & 0xF;
    int headBytes = tag >> 4;
    if (number >= BY_NUMBER.length) {
      throw new CorruptFrameException("unknown column encoding " + number);
    }
    ColumnEncoding encoding = BY_NUMBER[number];
    if (headBytes > 0 && (encoding == DICTIONARY || encoding == RAW)) {
      throw new CorruptFrameException("a column of encoding " + encoding + " has a head of " + headBytes + " bytes");
    }
    return encoding.read(in, count, in.readNumber(headBytes, "a column's head"), nested);
  }

  /** Passes over a column of {@code count} values, at least 1. */
  static void skipColumn(PayloadInput in, int count) throws CorruptFrameException {
    int tag = in.readByte("a column's tag");
    int number = tag & 0xF;
    if (number >= BY_NUMBER.length) {
      throw new CorruptFrameException("unknown column encoding " + number);
    }
    in.take(tag >> 4, "a column's head");
    switch (BY_NUMBER[number]) {
      case CONST -> {}
      case REFERENCE -> skipPacked(in, count, readWidth(in));
      case DELTA -> {
        in.take(in.readByte("the size of a column's first value"), "a first value");
        skipPacked(in, count - 1, readWidth(in));
      }
      case MASK -> skipPacked(in, count, Long.bitCount(in.readLong("a column's mask")));
      case DICTIONARY -> {
        int size = in.readByte("the size of a dictionary") + 1;
        skipColumn(in, size);
        skipPacked(in, count, Long.SIZE - Long.numberOfLeadingZeros(size - 1));
      }
      case RAW -> skipPacked(in, count, Long.SIZE);
      default -> throw new IllegalStateException("every encoding is above");
    }
  }

  private static void skipPacked(PayloadInput in, int count, int width) throws CorruptFrameException {
    in.take(PackedValues.bytes(count, width), "packed values");
  }

  static int readWidth(PayloadInput in) throws CorruptFrameException {
    int width = in.readByte("the width of packed values");
    if (width > Long.SIZE) {
      throw new CorruptFrameException("packed values of " + width + " bits");
    }
    return width;
  }

  static long fromZigzag(long value) {
    return value >>> 1 ^ -(value & 1);
  }

  /** The low bits of {@code value} at the ones of {@code mask}, lowest to lowest. */
  static long spread(long value, long mask) {
    long spread = 0;
    long rest = value;
    for (long ones = mask; ones != 0; ones &= ones - 1) {
      spread |= (rest & 1) << Long.numberOfTrailingZeros(ones);
      rest >>>= 1;
    }
    return spread;
  }
}
