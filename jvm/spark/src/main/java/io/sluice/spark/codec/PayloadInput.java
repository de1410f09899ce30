package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;

/** Reads a frame's payload from its start to its end; a part that runs past the end is corruption. One thread. */
final class PayloadInput {
  private final MemoryRange memory;
  private final long end;
  private long position;

  /** @param start where the payload begins in {@code memory}; it goes to the end of it */
  PayloadInput(MemoryRange memory, long start) {
    this.memory = memory;
    this.position = start;
    this.end = memory.bytes();
  }

  MemoryRange memory() {
    return memory;
  }

  long remaining() {
    return end - position;
  }

  /** Consumes {@code count} bytes: where they are in {@link #memory}. */
  long take(long count, String what) throws CorruptFrameException {
    if (count < 0 || count > remaining()) {
      throw new CorruptFrameException(what + " need " + count + " bytes, the payload has " + remaining() + " left");
    }
    long start = position;
    position += count;
    return start;
  }

  /** The next byte, which stays. */
  int peekByte(String what) throws CorruptFrameException {
    int value = readByte(what);
    position--;
    return value;
  }

  int readByte(String what) throws CorruptFrameException {
    return memory.getByte(take(1, what));
  }

  long readUnsignedInt(String what) throws CorruptFrameException {
    return Integer.toUnsignedLong(memory.getInt(take(Integer.BYTES, what)));
  }

  long readLong(String what) throws CorruptFrameException {
    return memory.getLong(take(Long.BYTES, what));
  }

  /** A number in its {@code count} low bytes, at most 8. */
  long readNumber(int count, String what) throws CorruptFrameException {
    if (count > Long.BYTES) {
      throw new CorruptFrameException(what + " have " + count + " bytes, more than 8");
    }
    long start = take(count, what);
    long value = 0;
    for (int i = count - 1; i >= 0; i--) {
      value = value << Byte.SIZE | memory.getByte(start + i);
    }
    return value;
  }
}
