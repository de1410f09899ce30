package io.sluice.spark.comet;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.decode.FrameGroup;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Comet's batches from frames. Each is its consumer's until the next one is asked for; whoever passes its buffers on
 * keeps them longer by Arrow's counts. One thread.
 */
final class FramesToBatches implements AutoCloseable {
  private final FrameGroup frames;
  private final CometVectors vectors;
  private final ArrowStructs structs;
  private final long decoder;
  private ColumnarBatch current;

  /**
   * @param types of the columns, as {@link BatchTypes} gives them
   * @param comets the loader of Comet's classes
   */
  FramesToBatches(FrameGroup frames, String types, int columns, ClassLoader comets, ReadMemory memory) {
    this.frames = frames;
    this.vectors = new CometVectors(comets);
    this.structs = new ArrowStructs(columns, memory);
    this.decoder = NativeException.check(NativeColumns.decoderOpen(types));
  }

  /** The next batch; null at the end. */
  ColumnarBatch next() throws IOException {
    closeCurrent();
    if (!frames.next()) {
      return null;
    }
    long rows = frames.decode(this::decode);
    current = vectors.importBatch(structs, rows);
    return current;
  }

  private long decode(long source, long sourceBytes) {
    // Of a frame that was decoded to find out which one is corrupt.
    structs.release();
    return NativeColumns.decoderDecode(
        decoder, source, sourceBytes, structs.arraysAddress(), structs.schemasAddress());
  }

  private void closeCurrent() {
    if (current != null) {
      ColumnarBatch done = current;
      current = null;
      done.close();
    }
  }

  @Override
  public void close() throws IOException {
    try (frames; structs; vectors) {
      closeCurrent();
      NativeException.check(NativeColumns.decoderClose(decoder));
    }
  }
}
