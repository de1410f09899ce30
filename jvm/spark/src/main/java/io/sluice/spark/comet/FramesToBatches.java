package io.sluice.spark.comet;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.columnar.ArrowStructs;
import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.decode.FrameGroup;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Comet's batches from frames. Each is its consumer's until the next one is asked for; whoever passes its buffers on
 * keeps them longer by Arrow's counts. One thread.
 */
final class FramesToBatches implements AutoCloseable {
  private final FrameGroup frames;
  private final ReadMemory memory;
  private final CometVectors vectors;
  private final ArrowStructs structs;
  private final SQLMetric decodeTime;
  private final int[] texts;
  private final long decoder;
  private ColumnarBatch current;
  /** What the task's account has for the current batch; null when it was not counted. */
  private ReadMemory.Piece counted;

  private FramesToBatches(CometDependency exchange, FrameGroup frames, ArrowStructs structs, ReadMemory memory) {
    this.frames = frames;
    this.memory = memory;
    this.structs = structs;
    this.vectors = new CometVectors(exchange.dependency().getClass().getClassLoader());
    this.decodeTime = exchange.decodeTime();
    this.texts = BatchTypes.texts(exchange.schema());
    this.decoder = NativeException.check(NativeColumns.decoderOpen(BatchTypes.decoded(exchange.schema())));
  }

  /** Takes the frames over: they are closed when this fails, too. */
  static FramesToBatches open(CometDependency exchange, FrameGroup frames, ReadMemory memory) {
    ArrowStructs structs = null;
    try {
      structs = new ArrowStructs(exchange.schema().size(), memory);
      return new FramesToBatches(exchange, frames, structs, memory);
    } catch (RuntimeException | Error e) {
      try (frames; ArrowStructs unused = structs) {
        throw e;
      } catch (IOException suppressed) {
        e.addSuppressed(suppressed);
        throw e;
      }
    }
  }

  /** The next batch; null at the end. */
  ColumnarBatch next() throws IOException {
    closeCurrent();
    if (!frames.next()) {
      return null;
    }
    // Where there is no room it is decoded uncounted, because nothing but reading it frees memory.
    counted = frames.decodedBytes() == 0 ? null : memory.tryReserve(frames.decodedBytes());
    long start = System.nanoTime();
    long rows = frames.decode(this::decode);
    decodeTime.add(System.nanoTime() - start);
    current = vectors.importBatch(structs, rows);
    return current;
  }

  private long decode(long source, long sourceBytes) {
    // Of a frame that was decoded to find out which one is corrupt.
    structs.release();
    long rows = NativeColumns.decoderDecode(
        decoder, source, sourceBytes, structs.arraysAddress(), structs.schemasAddress());
    if (rows >= 0) {
      // They were decoded as bytes: Spark has strings that are not UTF-8, and Comet's own shuffle passes them on.
      for (int column : texts) {
        structs.callText(column);
      }
    }
    return rows;
  }

  private void closeCurrent() {
    if (current != null) {
      ColumnarBatch done = current;
      current = null;
      done.close();
    }
    if (counted != null) {
      ReadMemory.Piece done = counted;
      counted = null;
      done.free();
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
