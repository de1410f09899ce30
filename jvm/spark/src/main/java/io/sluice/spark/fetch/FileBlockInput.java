package io.sluice.spark.fetch;

import io.sluice.spark.memory.AddressBuffer;
import io.sluice.spark.seal.PositionedBytes;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.function.Supplier;

/** A segment of a committed data file, read by position straight into leased memory. Not thread-safe. */
final class FileBlockInput implements BlockInput {
  private final ShuffleBlock block;
  private final FileChannel file;
  private final long start;
  private final long length;
  private final Supplier<String> diagnosis;
  private final AddressBuffer target;
  private long consumed;

  /**
   * @param file stays open after {@link #close}; its owner reads the next block from it
   * @param diagnosis compares the block with its stored checksum; null if there is none
   */
  FileBlockInput(ShuffleBlock block, FileChannel file, long start, long length, AddressBuffer target,
      Supplier<String> diagnosis) {
    this.block = block;
    this.file = file;
    this.start = start;
    this.length = length;
    this.target = target;
    this.diagnosis = diagnosis;
  }

  @Override
  public ShuffleBlock block() {
    return block;
  }

  @Override
  public long sizeBytes() {
    return length;
  }

  @Override
  public int read(long address, int maxBytes) throws IOException {
    long left = length - consumed;
    if (left == 0) {
      return -1;
    }
    int read = file.read(target.at(address, (int) Math.min(left, maxBytes)), start + consumed);
    if (read <= 0) {
      throw new EOFException("the data file ends at byte " + file.size() + ", the index says that the block is at "
          + start + " to " + (start + length));
    }
    consumed += read;
    return read;
  }

  @Override
  public PositionedBytes positioned() {
    return this::readAt;
  }

  private int readAt(long position, byte[] bytes) throws IOException {
    ByteBuffer into = ByteBuffer.wrap(bytes, 0, (int) Math.max(0, Math.min(bytes.length, length - position)));
    while (into.hasRemaining() && file.read(into, start + position + into.position()) > 0) {
      // Until the buffer is full, or the file ends.
    }
    return into.position();
  }

  @Override
  public String diagnose(IOException corruption) {
    return diagnosis.get();
  }

  @Override
  public void close() {
    // The channel belongs to LocalBlocks.
  }
}
