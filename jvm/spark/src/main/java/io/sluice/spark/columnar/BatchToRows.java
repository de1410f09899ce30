package io.sluice.spark.columnar;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The rows of batches with their partitions. A batch is copied before the next one is asked for, because scans fill the
 * same buffers again.
 *
 * <p>Where the native core knows the types and the partitioning, rows go from the vectors to the pages ({@link
 * Sink#append(OpenBatch)}); else Spark's code makes each row and finds its partition. One task's thread.
 */
public final class BatchToRows implements AutoCloseable {
  private final StructType schema;
  private final BatchPartitions partitions;
  /** Null where all batches go row by row, as the two below it. */
  private final String types;
  private final BatchExport export;
  private final ArrowStructs structs;
  /** Made for the first row that Spark's code makes. */
  private UnsafeProjection projection;

  /** Where rows go. */
  public interface Sink {
    /** Takes a row, which is the caller's again when this returns. */
    void append(int partition, UnsafeRow row) throws IOException;

    /** Takes all rows of a batch, which is closed when this returns. */
    void append(OpenBatch batch) throws IOException;
  }

  private BatchToRows(StructType schema, BatchPartitions partitions, String types, BatchExport export,
      ArrowStructs structs) {
    this.schema = schema;
    this.partitions = partitions;
    this.types = types;
    this.export = export;
    this.structs = structs;
  }

  /** Rows that Spark's code makes, one by one. */
  public static BatchToRows oneByOne(StructType schema, BatchPartitions partitions) {
    return new BatchToRows(schema, partitions, null, null, null);
  }

  /**
   * Rows that the native core copies, where it can.
   *
   * @param types of the columns: {@link BatchTypes}
   * @param export is closed with this object, and when this fails
   * @param memory for the structs of a batch
   */
  public static BatchToRows byNativeCore(
      StructType schema, BatchPartitions partitions, String types, BatchExport export, ReadMemory memory) {
    try {
      return new BatchToRows(schema, partitions, types, export, new ArrowStructs(schema.size(), memory));
    } catch (RuntimeException | Error e) {
      try (export) {
        throw e;
      }
    }
  }

  /** Gives all rows of a batch to {@code sink}. */
  public void write(ColumnarBatch batch, Sink sink) throws IOException {
    long[] numbers = types == null || batch.numRows() == 0 ? null : partitions.numbers();
    long handle = numbers == null ? 0 : open(batch, numbers);
    if (handle != 0) {
      try (OpenBatch open = new OpenBatch(handle, batch, this)) {
        if (partitions.accepts(open)) {
          sink.append(open);
          return;
        }
      }
    }
    writeRows(batch, sink);
  }

  /** The native core's handle of a batch; 0 when its rows must go one by one. */
  private long open(ColumnarBatch batch, long[] numbers) {
    boolean taken = false;
    try {
      if (!export.export(batch, structs)) {
        return 0;
      }
      taken = true;
      long handle = NativeColumns.batchOpen(
          structs.arraysAddress(), structs.schemasAddress(), structs.columns(), batch.numRows(), types, numbers);
      return handle == NativeCore.UNSUPPORTED ? 0 : NativeException.check(handle);
    } finally {
      if (!taken) {
        structs.release();
      }
    }
  }

  private void writeRows(ColumnarBatch batch, Sink sink) throws IOException {
    Iterator<InternalRow> rows = batch.rowIterator();
    while (rows.hasNext()) {
      UnsafeRow row = unsafe(rows.next());
      sink.append(partition(row), row);
    }
  }

  UnsafeRow unsafe(InternalRow row) {
    if (projection == null) {
      projection = UnsafeProjection.create(schema);
    }
    return projection.apply(row);
  }

  int partition(UnsafeRow row) {
    return partitions.partition(row);
  }

  int fields() {
    return schema.size();
  }

  @Override
  public void close() {
    if (export != null) {
      try (export) {
        structs.close();
      }
    }
  }
}
