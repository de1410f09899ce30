package io.sluice.spark.fetch;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.sluice.spark.seal.PositionedBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NettyManagedBuffer;

/**
 * The bytes of a fetched block that lie in memory, Netty's or the transport's. Holds a reference of its own on them, so
 * they stay valid until {@link #close} even when Spark releases the block first, as it does when the task ends while
 * another thread reads. Reading does not move the positions of the buffer, which Spark's own streams share.
 *
 * <p>One thread at a time.
 */
final class FetchedBytes implements PositionedBytes {
  private final ByteBuf bytes;
  private final int start;
  private final ManagedBuffer retained;

  private FetchedBytes(ByteBuf bytes, long sizeBytes, ManagedBuffer retained) {
    this.bytes = bytes;
    // Behind the reader's index of what Spark has read already.
    this.start = sizeBytes == BlockInput.UNKNOWN ? bytes.readerIndex() : bytes.writerIndex() - (int) sizeBytes;
    this.retained = retained;
  }

  /**
   * Those of {@code block}; null when they are not in memory, or too many for one buffer.
   *
   * @param sizeBytes of the whole block, of which Spark may have read a part; {@link BlockInput#UNKNOWN} when it has
   *     read nothing
   */
  static FetchedBytes of(ManagedBuffer block, long sizeBytes) throws IOException {
    if (block instanceof FileSegmentManagedBuffer || block.size() > Integer.MAX_VALUE) {
      return null;
    }
    if (block instanceof NettyManagedBuffer) {
      // Adds a reference. nioByteBuffer() would copy a block that Netty received in several pieces.
      return new FetchedBytes((ByteBuf) block.convertToNetty(), sizeBytes, null);
    }
    block.retain();
    return new FetchedBytes(Unpooled.wrappedBuffer(block.nioByteBuffer()), sizeBytes, block);
  }

  int size() {
    return bytes.writerIndex() - start;
  }

  /** Copies bytes from {@code position} on to all that is left of {@code target}. */
  void copy(int position, ByteBuffer target) {
    bytes.getBytes(start + position, target);
  }

  @Override
  public int read(long position, byte[] target) {
    int count = (int) Math.max(0, Math.min(target.length, size() - position));
    if (count > 0) {
      bytes.getBytes(start + (int) position, target, 0, count);
    }
    return count;
  }

  @Override
  public void close() {
    if (retained == null) {
      bytes.release();
    } else {
      retained.release();
    }
  }
}
