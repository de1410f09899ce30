package io.sluice.spark.comet;

import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.columnar.DecodedColumns;
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
  private final DecodedColumns columns;
  private final CometVectors vectors;
  private final SQLMetric decodeTime;
  private final int[] texts;
  private ColumnarBatch current;

  private FramesToBatches(CometDependency exchange, FrameGroup frames, DecodedColumns columns) {
    this.frames = frames;
    this.columns = columns;
    this.vectors = new CometVectors(exchange.dependency().getClass().getClassLoader());
    this.decodeTime = exchange.decodeTime();
    this.texts = BatchTypes.texts(exchange.schema());
  }

  /** Takes the frames over: they are closed when this fails, too. */
  static FramesToBatches open(CometDependency exchange, FrameGroup frames, ReadMemory memory) {
    DecodedColumns columns = new DecodedColumns(frames, exchange.schema(), memory);
    try {
      return new FramesToBatches(exchange, frames, columns);
    } catch (RuntimeException | Error e) {
      try (columns) {
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
    long start = System.nanoTime();
    long rows = columns.decode();
    decodeTime.add(System.nanoTime() - start);
    // They were decoded as bytes; Comet's own shuffle, too, passes strings on that are not UTF-8.
    for (int column : texts) {
      columns.structs().callText(column);
    }
    current = vectors.importBatch(columns.structs(), rows);
    return current;
  }

  private void closeCurrent() {
    if (current != null) {
      ColumnarBatch done = current;
      current = null;
      done.close();
    }
    columns.release();
  }

  @Override
  public void close() throws IOException {
    try (columns; vectors) {
      closeCurrent();
    }
  }
}
