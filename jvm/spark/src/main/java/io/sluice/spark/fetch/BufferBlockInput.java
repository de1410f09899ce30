package io.sluice.spark.fetch;

import io.sluice.spark.memory.AddressBuffer;
import io.sluice.spark.seal.PositionedBytes;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.Function;

/** A fetched block in memory, copied straight to where its reader wants it. Not thread-safe; owns bytes and stream. */
final class BufferBlockInput implements BlockInput {
  private final ShuffleBlock block;
  private final FetchedBytes bytes;
  private final InputStream stream;
  private final AddressBuffer target;
  private final Function<IOException, String> diagnosis;
  private int consumed;
  private boolean closed;

  /**
   * @param stream Spark's for the same block: it is only closed, or read for Spark's diagnosis of a corruption
   * @param target scratch that the inputs of one reader share
   */
  BufferBlockInput(ShuffleBlock block, FetchedBytes bytes, InputStream stream, AddressBuffer target,
      Function<IOException, String> diagnosis) {
    this.block = block;
    this.bytes = bytes;
    this.stream = stream;
    this.target = target;
    this.diagnosis = diagnosis;
  }

  @Override
  public ShuffleBlock block() {
    return block;
  }

  @Override
  public long sizeBytes() {
    return bytes.size();
  }

  @Override
  public boolean isInMemory() {
    return true;
  }

  @Override
  public int read(long address, int maxBytes) {
    int count = Math.min(maxBytes, bytes.size() - consumed);
    if (count == 0) {
      return -1;
    }
    bytes.copy(consumed, target.at(address, count));
    consumed += count;
    return count;
  }

  @Override
  public PositionedBytes positioned() {
    return bytes::read;
  }

  @Override
  public String diagnose(IOException corruption) {
    return closed ? null : diagnosis.apply(corruption);
  }

  @Override
  public void close() throws IOException {
    if (!closed) {
      closed = true;
      try (stream) {
        bytes.close();
      }
    }
  }
}
