package io.sluice.spark.comet;

import io.sluice.spark.columnar.BatchToRows;
import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.columnar.OpenBatch;
import io.sluice.spark.compat.RowSerializer;
import io.sluice.spark.decode.ReadMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The rows of a map task of Comet's native exchange, and its metrics. One task's thread.
 *
 * <p>The metric <i>data size</i>, by which adaptive execution chooses broadcast joins, counts bytes of columns, as with
 * Comet's own shuffle.
 */
public final class CometBatches implements AutoCloseable {
  private final BatchPartitioning partitions;
  private final BatchToRows rows;
  private final Optional<SQLMetric> batches;
  private final Optional<SQLMetric> nanos;
  private final SQLMetric dataSize;
  private long taken;

  /**
   * @param nativeCore whether there is a native core
   * @param memory for the structs of a batch
   */
  public CometBatches(CometDependency exchange, boolean nativeCore, ReadMemory memory) {
    this.batches = exchange.writeMetric("input_batches");
    this.nanos = exchange.writeMetric("repart_time");
    this.dataSize = RowSerializer.dataSize(exchange.dependency().serializer());
    StructType schema = exchange.schema();
    Optional<String> types = nativeCore ? BatchTypes.of(schema) : Optional.empty();
    this.partitions = new BatchPartitioning(exchange.partitioning(), exchange.attributes(), schema,
        exchange.dependency().partitioner(), types.isPresent());
    try {
      this.rows = partitions.numbers() == null ? BatchToRows.oneByOne(schema, partitions)
          : BatchToRows.byNativeCore(schema, partitions, types.get(),
              new CometVectors(exchange.dependency().getClass().getClassLoader()), memory);
    } catch (RuntimeException | Error e) {
      try (partitions) {
        throw e;
      }
    }
  }

  /** Gives all rows of a batch to {@code sink}. */
  public void write(ColumnarBatch batch, BatchToRows.Sink sink) throws IOException {
    batches.ifPresent(metric -> metric.add(1));
    long start = System.nanoTime();
    rows.write(batch, new Counted(sink));
    taken += batch.numRows();
    nanos.ifPresent(metric -> metric.add(System.nanoTime() - start));
  }

  /** Adds the rows whose partition was found, and those that Spark's code was asked about; after the last batch. */
  public void count(Counters counters) {
    // A long row is asked about once more.
    long asked = Math.min(partitions.asked(), taken);
    counters.add(Counter.WRITE_PARTITIONS_FOUND, taken - asked);
    counters.add(Counter.WRITE_PARTITIONS_ASKED, asked);
    counters.add(Counter.WRITE_PARTITIONS_REFUTED, partitions.refuted() ? 1 : 0);
  }

  /** Adds what is appended to the data size: a batch's values, or the bytes of rows that go one by one. */
  private final class Counted implements BatchToRows.Sink {
    private final BatchToRows.Sink sink;

    private Counted(BatchToRows.Sink sink) {
      this.sink = sink;
    }

    @Override
    public void append(int partition, UnsafeRow row) throws IOException {
      dataSize.add(row.getSizeInBytes());
      sink.append(partition, row);
    }

    @Override
    public void append(OpenBatch batch) throws IOException {
      dataSize.add(batch.valueBytes());
      sink.append(batch);
    }
  }

  @Override
  public void close() {
    try (partitions) {
      rows.close();
    }
  }
}
