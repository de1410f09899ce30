package io.sluice.spark.comet;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
import java.util.Iterator;
import java.util.Optional;
import java.util.function.ToIntFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The rows of Comet's batches with their partitions. A batch is copied before the next one is asked for, because
 * Comet's scans fill the same buffers again.
 *
 * <p>Where the native core knows the types and the partitioning, rows go from the vectors to the pages ({@link
 * Sink#append(OpenBatch)}); else Spark's code makes each row and finds its partition. One task's thread.
 */
public final class BatchToRows implements AutoCloseable {
  private final StructType schema;
  private final BatchPartitioning partitioning;
  /** Null where all batches go row by row. */
  private final String types;
  private final long[] numbers;
  private final CometVectors vectors;
  private final ArrowStructs structs;
  private final Optional<SQLMetric> batches;
  private final Optional<SQLMetric> nanos;
  /** Made for the first row that Spark's code makes. */
  private UnsafeProjection projection;
  private ToIntFunction<UnsafeRow> function;

  /** Where rows go. */
  public interface Sink {
    /** Takes a row, which is the caller's again when this returns. */
    void append(int partition, UnsafeRow row) throws IOException;

    /** Takes all rows of a batch, which is closed when this returns. */
    void append(OpenBatch batch) throws IOException;
  }

  /**
   * @param nativeCore whether there is a native core
   * @param memory for the structs of a batch
   */
  public BatchToRows(CometDependency exchange, boolean nativeCore, ReadMemory memory) {
    this.schema = exchange.schema();
    this.batches = exchange.writeMetric("input_batches");
    this.nanos = exchange.writeMetric("repart_time");
    this.partitioning = new BatchPartitioning(exchange);
    Optional<String> known = nativeCore ? BatchTypes.of(schema) : Optional.empty();
    this.numbers = known.isPresent() ? partitioning.numbers() : null;
    this.types = numbers == null ? null : known.get();
    if (types == null) {
      vectors = null;
      structs = null;
      return;
    }
    vectors = new CometVectors(exchange.dependency().getClass().getClassLoader());
    structs = new ArrowStructs(schema.size(), memory);
  }

  /** Gives all rows of a batch to {@code sink}. */
  public void write(ColumnarBatch batch, Sink sink) throws IOException {
    batches.ifPresent(metric -> metric.add(1));
    long start = System.nanoTime();
    divide(batch, sink);
    nanos.ifPresent(metric -> metric.add(System.nanoTime() - start));
  }

  private void divide(ColumnarBatch batch, Sink sink) throws IOException {
    long handle = types == null || !vectors.canExport(batch) ? 0 : open(batch);
    if (handle == 0) {
      writeRows(batch, sink);
      return;
    }
    try (OpenBatch open = new OpenBatch(handle, batch, this)) {
      sink.append(open);
    }
  }

  /** The native core's handle of a batch; 0 when its rows must go one by one. */
  private long open(ColumnarBatch batch) {
    boolean taken = false;
    try {
      int rows = vectors.export(batch, structs.arrays(), structs.schemas());
      if (rows != batch.numRows()) {
        // Some of them are deleted.
        return 0;
      }
      taken = true;
      long handle = NativeColumns.batchOpen(
          structs.arraysAddress(), structs.schemasAddress(), structs.columns(), rows, types, numbers);
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
    if (function == null) {
      function = partitioning.function();
    }
    return function.applyAsInt(row);
  }

  @Override
  public void close() {
    if (structs != null) {
      try (vectors) {
        structs.close();
      }
    }
  }
}
