package io.sluice.spark.fetch;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
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
final class FetchedBytes implements AutoCloseable {
  private final ByteBuf bytes;
  private final ManagedBuffer retained;

  private FetchedBytes(ByteBuf bytes, ManagedBuffer retained) {
    this.bytes = bytes;
    this.retained = retained;
  }

  /** Those of {@code block}; null when they are not in memory, or too many for one buffer. */
  static FetchedBytes of(ManagedBuffer block) throws IOException {
    if (block instanceof FileSegmentManagedBuffer || block.size() > Integer.MAX_VALUE) {
      return null;
    }
    if (block instanceof NettyManagedBuffer) {
      // Adds a reference. nioByteBuffer() would copy a block that Netty received in several pieces.
      return new FetchedBytes((ByteBuf) block.convertToNetty(), null);
    }
    block.retain();
    return new FetchedBytes(Unpooled.wrappedBuffer(block.nioByteBuffer()), block);
  }

  int size() {
    return bytes.readableBytes();
  }

  /** Copies bytes from {@code position} on to all that is left of {@code target}. */
  void copy(int position, ByteBuffer target) {
    bytes.getBytes(bytes.readerIndex() + position, target);
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
