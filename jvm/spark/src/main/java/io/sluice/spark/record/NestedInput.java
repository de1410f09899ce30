package io.sluice.spark.record;

import io.sluice.spark.SluiceException;
import org.apache.spark.unsafe.Platform;

/**
 * A place in the bytes of nested values, and the numbers that are read there ({@link NestedTag} says what they mean).
 * Bytes that no writer wrote are an error: each length is compared with the bytes that are left. One thread.
 */
final class NestedInput {
  private static final int NUMBER_BITS = 7;
  private static final int NUMBER_MASK = (1 << NUMBER_BITS) - 1;

  private Object base;
  private long next;
  private long end;

  /** Starts with the {@code bytes} bytes at {@code offset} in {@code object} (null: at that address). */
  void open(Object object, long offset, int bytes) {
    base = object;
    next = offset;
    end = offset + bytes;
  }

  /** The object in which the bytes are; null if they are not on the heap. */
  Object base() {
    return base;
  }

  /** Bytes that are left. */
  long left() {
    return end - next;
  }

  /** Whether {@code tag} is next; skips it. */
  boolean skips(int tag) {
    if (next < end && Platform.getByte(base, next) == tag) {
      next++;
      return true;
    }
    return false;
  }

  int tag() {
    return Platform.getByte(base, take(1)) & 0xFF;
  }

  /** A number of elements that have at least {@code elementBytes} each, and so fit. */
  int count(int elementBytes) {
    long count = number();
    if (count < 0 || count > (end - next) / elementBytes) {
      throw damaged("has " + count + " elements in " + (end - next) + " bytes");
    }
    return (int) count;
  }

  long signed() {
    long number = number();
    return number >>> 1 ^ -(number & 1);
  }

  long number() {
    long number = 0;
    for (int shift = 0; shift < Long.SIZE; shift += NUMBER_BITS) {
      byte bits = Platform.getByte(base, take(1));
      number |= (long) (bits & NUMBER_MASK) << shift;
      if (bits >= 0) {
        return number;
      }
    }
    throw damaged("has a number of more than 64 bits");
  }

  /** The address of {@code bytes} bytes, behind which the next ones are. */
  long take(long bytes) {
    long taken = next;
    if (bytes > end - taken) {
      throw damaged("ends within a value");
    }
    next = taken + bytes;
    return taken;
  }

  /** Frames have checksums, so this is a bug in Sluice, or another version wrote the record. */
  static SluiceException damaged(String what) {
    return new SluiceException("a nested part of a record " + what + "; was it written by another version of Sluice?"
        + " If not, please report this");
  }
}
