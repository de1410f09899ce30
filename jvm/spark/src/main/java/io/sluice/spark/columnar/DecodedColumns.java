package io.sluice.spark.columnar;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.decode.FrameGroup;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of the frames of a reduce task, a group of frames at a time: Arrow's arrays, of strings as bytes, because
 * Spark has strings that are not UTF-8. The task's account has what the current arrays take, where it had room: where
 * it had none they are decoded uncounted, because nothing but reading them frees memory. One thread.
 */
public final class DecodedColumns implements AutoCloseable {
  private final FrameGroup frames;
  private final ReadMemory memory;
  private final ArrowStructs structs;
  private final long decoder;
  /** What the task's account has for the current arrays; null when they were not counted. */
  private ReadMemory.Piece counted;

  /**
   * @param frames are closed with this, and when this fails
   * @param schema which {@link BatchTypes#of} has formats for
   */
  public DecodedColumns(FrameGroup frames, StructType schema, ReadMemory memory) {
    this.frames = frames;
    this.memory = memory;
    ArrowStructs made = null;
    try {
      made = new ArrowStructs(schema.size(), memory);
      this.decoder = NativeException.check(NativeColumns.decoderOpen(BatchTypes.decoded(schema)));
      this.structs = made;
    } catch (RuntimeException | Error e) {
      try (frames; ArrowStructs unused = made) {
        throw e;
      } catch (IOException suppressed) {
        e.addSuppressed(suppressed);
        throw e;
      }
    }
  }

  /** The arrays, and their schemas. */
  public ArrowStructs structs() {
    return structs;
  }

  /** Decodes the frames that the group has read, in the place of the arrays before, which are released. The rows. */
  public long decode() throws IOException {
    release();
    counted = frames.decodedBytes() == 0 ? null : memory.tryReserve(frames.decodedBytes());
    return frames.decode(this::decode);
  }

  private long decode(long source, long sourceBytes) {
    // Of a frame that was decoded to find out which one is corrupt.
    structs.release();
    return NativeColumns.decoderDecode(
        decoder, source, sourceBytes, structs.arraysAddress(), structs.schemasAddress());
  }

  /** Releases the arrays, if nobody has taken them over, and gives their memory back. */
  public void release() {
    structs.release();
    uncount();
  }

  /** Gives back what the task's account has for the arrays, which stay. */
  void uncount() {
    if (counted != null) {
      ReadMemory.Piece done = counted;
      counted = null;
      done.free();
    }
  }

  @Override
  public void close() throws IOException {
    try (frames; structs) {
      release();
      NativeException.check(NativeColumns.decoderClose(decoder));
    }
  }
}
