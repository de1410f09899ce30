package io.sluice.spark.transport;

import io.netty.buffer.Unpooled;
import io.sluice.spark.memory.AddressBuffer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.LongConsumer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.unsafe.Platform;

/**
 * A block that was read one-sidedly: leased memory, counted by references like Netty's buffers. It begins with one
 * reference; the release of the last one frees the memory, once.
 *
 * <p>Any thread. Reads through {@link #createInputStream} and the release of the memory exclude each other, so that a
 * thread that still reads when its task ends gets an {@link IllegalStateException} and never other data.
 */
public final class LeasedBuffer extends ManagedBuffer {
  private final long address;
  private final long bytes;
  private final LongConsumer memory;
  private int references = 1;

  /**
   * @param address of the memory; 0 for a block without bytes
   * @param memory takes the address back
   */
  LeasedBuffer(long address, long bytes, LongConsumer memory) {
    this.address = address;
    this.bytes = bytes;
    this.memory = memory;
  }

  @Override
  public long size() {
    return bytes;
  }

  /** A view of the memory, valid as long as the caller holds a reference. */
  @Override
  public synchronized ByteBuffer nioByteBuffer() throws IOException {
    checkHeld();
    return new AddressBuffer().at(address, intSize());
  }

  @Override
  public InputStream createInputStream() {
    return new Stream();
  }

  @Override
  public synchronized ManagedBuffer retain() {
    if (references == 0) {
      throw new IllegalStateException(this + " is retained after its memory was given back");
    }
    references++;
    return this;
  }

  @Override
  public ManagedBuffer release() {
    if (dropReference() && address != 0) {
      memory.accept(address);
    }
    return this;
  }

  /** Whether it was the last. */
  private synchronized boolean dropReference() {
    if (references == 0) {
      throw new IllegalStateException(this + " is released once too often");
    }
    references--;
    return references == 0;
  }

  /** An independent copy: Spark does not send a fetched block on, so sharing the memory would gain nothing. */
  @Override
  public Object convertToNetty() throws IOException {
    return heapCopy();
  }

  /** As {@link #convertToNetty}. Spark 3 has no such method. */
  @Override
  public Object convertToNettyForSsl() throws IOException {
    return heapCopy();
  }

  private synchronized Object heapCopy() throws IOException {
    return Unpooled.copiedBuffer(nioByteBuffer());
  }

  private int intSize() throws IOException {
    if (bytes > Integer.MAX_VALUE) {
      throw new IOException(this + " is too large for one Java buffer");
    }
    return (int) bytes;
  }

  /**
   * Not an {@link IOException}: Spark would take it for a failed fetch from the block's executor, which is healthy,
   * would run the map stage again, and would lose the error that ended the task.
   */
  private void checkHeld() {
    if (references == 0) {
      throw new IllegalStateException(this + " is read after its memory was given back");
    }
  }

  private synchronized void copy(long from, byte[] target, int offset, int length) {
    checkHeld();
    Platform.copyMemory(null, address + from, target, Platform.BYTE_ARRAY_OFFSET + offset, length);
  }

  private synchronized int byteAt(long at) {
    checkHeld();
    return Byte.toUnsignedInt(Platform.getByte(null, address + at));
  }

  @Override
  public String toString() {
    return "block of " + bytes + " bytes, read one-sidedly";
  }

  /** Used by one thread. */
  private final class Stream extends InputStream {
    private long position;

    @Override
    public int read() {
      return position < bytes ? byteAt(position++) : -1;
    }

    @Override
    public int read(byte[] target, int offset, int length) {
      Objects.checkFromIndexSize(offset, length, target.length);
      if (length == 0) {
        return 0;
      }
      if (position == bytes) {
        return -1;
      }
      int count = (int) Math.min(length, bytes - position);
      copy(position, target, offset, count);
      position += count;
      return count;
    }

    @Override
    public long skip(long wanted) {
      long skipped = Math.max(0, Math.min(wanted, bytes - position));
      position += skipped;
      return skipped;
    }

    @Override
    public int available() {
      return (int) Math.min(Integer.MAX_VALUE, bytes - position);
    }
  }
}
