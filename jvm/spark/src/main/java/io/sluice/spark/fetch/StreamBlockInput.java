package io.sluice.spark.fetch;

import io.sluice.spark.seal.PositionedBytes;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.Function;
import org.apache.spark.unsafe.Platform;

/** A block that Spark gives as a stream. Not thread-safe; owns the stream. */
public final class StreamBlockInput implements BlockInput {
  /** Bytes of the staging array between a stream and leased memory. */
  public static final int STAGING_BYTES = 64 * 1024;

  private final ShuffleBlock block;
  private final InputStream stream;
  private final long sizeBytes;
  private final byte[] staging;
  private final Function<IOException, String> diagnosis;
  private final Positions positions;
  private long consumed;
  private boolean closed;

  /** Opens the same block once more. */
  @FunctionalInterface
  public interface Positions {
    /** Its bytes by position; null where they are not to be had a second time. */
    PositionedBytes open() throws IOException;
  }

  /**
   * A block in {@code stream}.
   *
   * @param sizeBytes exact, or {@link BlockInput#UNKNOWN}
   * @param staging scratch of any size, which the inputs of one reader share
   */
  public StreamBlockInput(ShuffleBlock block, InputStream stream, long sizeBytes, byte[] staging,
      Function<IOException, String> diagnosis, Positions positions) {
    this.block = block;
    this.stream = stream;
    this.sizeBytes = sizeBytes;
    this.staging = staging;
    this.diagnosis = diagnosis;
    this.positions = positions;
  }

  @Override
  public ShuffleBlock block() {
    return block;
  }

  @Override
  public long sizeBytes() {
    return sizeBytes;
  }

  @Override
  public int read(long address, int maxBytes) throws IOException {
    int read = stream.read(staging, 0, Math.min(maxBytes, staging.length));
    if (read < 0) {
      if (sizeBytes != UNKNOWN && consumed < sizeBytes) {
        throw new EOFException("the block ends at byte " + consumed + " of " + sizeBytes);
      }
      return -1;
    }
    Platform.copyMemory(staging, Platform.BYTE_ARRAY_OFFSET, null, address, read);
    consumed += read;
    return read;
  }

  @Override
  public PositionedBytes positioned() throws IOException {
    return positions.open();
  }

  @Override
  public String diagnose(IOException corruption) {
    return closed ? null : diagnosis.apply(corruption);
  }

  @Override
  public void close() throws IOException {
    closed = true;
    stream.close();
  }
}
