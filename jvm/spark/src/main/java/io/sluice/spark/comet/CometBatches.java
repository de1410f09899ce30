package io.sluice.spark.comet;

import io.sluice.spark.columnar.BatchToRows;
import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.decode.ReadMemory;
import java.io.IOException;
import java.util.Optional;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The rows of a map task of Comet's native exchange, and its metrics. One task's thread. */
public final class CometBatches implements AutoCloseable {
  private final BatchToRows rows;
  private final Optional<SQLMetric> batches;
  private final Optional<SQLMetric> nanos;

  /**
   * @param nativeCore whether there is a native core
   * @param memory for the structs of a batch
   */
  public CometBatches(CometDependency exchange, boolean nativeCore, ReadMemory memory) {
    this.batches = exchange.writeMetric("input_batches");
    this.nanos = exchange.writeMetric("repart_time");
    this.rows = rows(exchange, nativeCore, memory);
  }

  private static BatchToRows rows(CometDependency exchange, boolean nativeCore, ReadMemory memory) {
    StructType schema = exchange.schema();
    BatchPartitioning partitions = new BatchPartitioning(exchange);
    Optional<String> types = nativeCore && partitions.numbers() != null ? BatchTypes.of(schema) : Optional.empty();
    return types.isPresent()
        ? BatchToRows.byNativeCore(schema, partitions, types.get(),
            new CometVectors(exchange.dependency().getClass().getClassLoader()), memory)
        : BatchToRows.oneByOne(schema, partitions);
  }

  /** Gives all rows of a batch to {@code sink}. */
  public void write(ColumnarBatch batch, BatchToRows.Sink sink) throws IOException {
    batches.ifPresent(metric -> metric.add(1));
    long start = System.nanoTime();
    rows.write(batch, sink);
    nanos.ifPresent(metric -> metric.add(System.nanoTime() - start));
  }

  @Override
  public void close() {
    rows.close();
  }
}
