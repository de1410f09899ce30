package io.sluice.spark.codec;

import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.apache.spark.unsafe.Platform;

/**
 * Memory outside the Java heap that somebody else owns. Every access is checked: one beyond its end is an {@link
 * IndexOutOfBoundsException}, a bug of the caller. Positions are bytes from its start; numbers are little-endian unless
 * said otherwise. No state of its own: as thread-safe as the memory is.
 */
public final class MemoryRange {
  private static final boolean SWAP = ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN;
  private static final int CHUNK_BYTES = 8 * 1024;

  private final long address;
  private final long bytes;

  public MemoryRange(long address, long bytes) {
    this.address = address;
    this.bytes = bytes;
  }

  long bytes() {
    return bytes;
  }

  int getByte(long at) {
    return Platform.getByte(null, place(at, 1)) & 0xFF;
  }

  int getInt(long at) {
    int value = Platform.getInt(null, place(at, Integer.BYTES));
    return SWAP ? Integer.reverseBytes(value) : value;
  }

  long getLong(long at) {
    long value = Platform.getLong(null, place(at, Long.BYTES));
    return SWAP ? Long.reverseBytes(value) : value;
  }

  void putInt(long at, int value) {
    Platform.putInt(null, place(at, Integer.BYTES), SWAP ? Integer.reverseBytes(value) : value);
  }

  /** In this machine's byte order, as Spark reads the words of rows and Java the lengths of rows. */
  void putNativeLong(long at, long value) {
    Platform.putLong(null, place(at, Long.BYTES), value);
  }

  /** In this machine's byte order. */
  void putNativeInt(long at, int value) {
    Platform.putInt(null, place(at, Integer.BYTES), value);
  }

  /** In this machine's byte order. */
  long getNativeLong(long at) {
    return Platform.getLong(null, place(at, Long.BYTES));
  }

  /** Copies {@code count} bytes to {@code target}; the ranges must not overlap. */
  void copyTo(long at, MemoryRange target, long targetAt, long count) {
    Platform.copyMemory(null, place(at, count), null, target.place(targetAt, count), count);
  }

  public void get(long at, byte[] target, int count) {
    if (count > target.length) {
      throw new IndexOutOfBoundsException(count + " bytes for an array of " + target.length);
    }
    Platform.copyMemory(null, place(at, count), target, Platform.BYTE_ARRAY_OFFSET, count);
  }

  public void put(long at, byte[] source, int from, int count) {
    if (from < 0 || from > source.length - count) {
      throw new IndexOutOfBoundsException(count + " bytes at " + from + " of an array of " + source.length);
    }
    Platform.copyMemory(source, Platform.BYTE_ARRAY_OFFSET + from, null, place(at, count), count);
  }

  void clear(long at, long count) {
    Platform.setMemory(place(at, count), (byte) 0, count);
  }

  /** The CRC32C of {@code count} bytes. */
  int crc32c(long at, long count) {
    CRC32C crc = new CRC32C();
    byte[] chunk = new byte[(int) Math.min(CHUNK_BYTES, count)];
    for (long done = 0; done < count; done += chunk.length) {
      int now = (int) Math.min(chunk.length, count - done);
      get(at + done, chunk, now);
      crc.update(chunk, 0, now);
    }
    return (int) crc.getValue();
  }

  /** The address of {@code count} bytes at {@code at}. */
  long place(long at, long count) {
    if (at < 0 || count < 0 || at > bytes - count) {
      throw new IndexOutOfBoundsException(count + " bytes at " + at + " of memory of " + bytes);
    }
    return address + at;
  }
}
