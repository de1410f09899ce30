package io.sluice.spark.gpu;

import io.sluice.spark.decode.ReadMemory;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.ShuffleBlock;
import io.sluice.spark.seal.PositionedBytes;
import java.io.IOException;
import java.util.function.Supplier;
import org.apache.spark.unsafe.Platform;

/** A block that was copied from the GPU to memory, which is freed when it is closed. Not thread-safe. */
final class GpuCopyInput implements BlockInput {
  private final ShuffleBlock block;
  private final ReadMemory.Piece piece;
  private final long bytes;
  private final Supplier<String> diagnosis;
  private long consumed;
  private boolean closed;

  /** @param piece taken over */
  GpuCopyInput(ShuffleBlock block, ReadMemory.Piece piece, long bytes, Supplier<String> diagnosis) {
    this.block = block;
    this.piece = piece;
    this.bytes = bytes;
    this.diagnosis = diagnosis;
  }

  @Override
  public ShuffleBlock block() {
    return block;
  }

  @Override
  public long sizeBytes() {
    return bytes;
  }

  @Override
  public boolean isInMemory() {
    return true;
  }

  @Override
  public int read(long address, int maxBytes) {
    long left = bytes - consumed;
    if (left == 0) {
      return -1;
    }
    int read = (int) Math.min(left, maxBytes);
    Platform.copyMemory(null, piece.address() + consumed, null, address, read);
    consumed += read;
    return read;
  }

  @Override
  public PositionedBytes positioned() {
    return (position, target) -> {
      int count = (int) Math.max(0, Math.min(target.length, bytes - position));
      Platform.copyMemory(null, piece.address() + position, target, Platform.BYTE_ARRAY_OFFSET, count);
      return count;
    };
  }

  @Override
  public String diagnose(IOException corruption) {
    return diagnosis.get();
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      piece.free();
    }
  }
}
