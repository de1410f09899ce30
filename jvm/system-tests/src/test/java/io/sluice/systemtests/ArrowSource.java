package io.sluice.systemtests;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * A source as an engine's author writes one: its batches are Arrow vectors, in {@link #PARTITIONS} partitions. With
 * the option {@code columns} it breaks its word and gives only so many of them.
 */
public final class ArrowSource implements TableProvider {
  static final int PARTITIONS = 2;
  static final int BATCHES = 3;
  static final int BATCH_ROWS = 1500;
  private static final StructType SCHEMA =
      StructType.fromDDL("id BIGINT, even BOOLEAN, x DOUBLE, price DECIMAL(12, 2), total DECIMAL(38, 4), name STRING");

  static Dataset<Row> table(SparkSession spark) {
    return spark.read().format(ArrowSource.class.getName()).load();
  }

  /** With {@code text} at the beginning of each name. */
  static Dataset<Row> tableWithText(SparkSession spark, String text) {
    return spark.read().format(ArrowSource.class.getName()).option("text", text).load();
  }

  static Dataset<Row> tableWithColumns(SparkSession spark, int columns) {
    return spark.read().format(ArrowSource.class.getName()).option("columns", columns).load();
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new ArrowTable();
  }

  private static final class ArrowTable implements SupportsRead {
    @Override
    public String name() {
      return "arrow";
    }

    @Override
    public StructType schema() {
      return SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      int columns = options.getInt("columns", SCHEMA.size());
      String text = options.getOrDefault("text", "name ");
      return () -> new ArrowScan(columns, text);
    }
  }

  private record ArrowScan(int columns, String text) implements Scan, Batch {
    @Override
    public StructType readSchema() {
      return SCHEMA;
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      InputPartition[] partitions = new InputPartition[PARTITIONS];
      for (int i = 0; i < PARTITIONS; i++) {
        partitions[i] = new Part(i);
      }
      return partitions;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Readers(columns, text);
    }
  }

  private record Part(int index) implements InputPartition {
    private static final long serialVersionUID = 1;
  }

  private record Readers(int columns, String text) implements PartitionReaderFactory {
    private static final long serialVersionUID = 1;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      throw new UnsupportedOperationException("this source has batches");
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
      return new Reader(((Part) partition).index(), columns, text);
    }

    @Override
    public boolean supportColumnarReads(InputPartition partition) {
      return true;
    }
  }

  private static final class Reader implements PartitionReader<ColumnarBatch> {
    /** Its end fails where a vector was not freed. */
    private final BufferAllocator allocator = new RootAllocator();
    private final int columns;
    private final String text;
    private long nextId;
    private int batches;
    private ColumnarBatch current;

    Reader(int partition, int columns, String text) {
      this.columns = columns;
      this.text = text;
      this.nextId = (long) partition * BATCHES * BATCH_ROWS;
    }

    @Override
    public boolean next() {
      closeCurrent();
      if (batches == BATCHES) {
        return false;
      }
      batches++;
      current = newBatch();
      return true;
    }

    private ColumnarBatch newBatch() {
      BigIntVector ids = new BigIntVector("id", allocator);
      BitVector evens = new BitVector("even", allocator);
      Float8Vector xs = new Float8Vector("x", allocator);
      DecimalVector prices = new DecimalVector("price", allocator, 12, 2);
      DecimalVector totals = new DecimalVector("total", allocator, 38, 4);
      VarCharVector names = new VarCharVector("name", allocator);
      for (int row = 0; row < BATCH_ROWS; row++) {
        long id = nextId++;
        ids.setSafe(row, id);
        xs.setSafe(row, id / 7d);
        prices.setSafe(row, BigDecimal.valueOf(id * 31, 2));
        totals.setSafe(row, BigDecimal.valueOf(id * 77_777_777_777L, 4).multiply(BigDecimal.valueOf(-1_000_000)));
        if (id % 3 == 0) {
          evens.setNull(row);
          names.setNull(row);
        } else {
          evens.setSafe(row, (int) (id % 2));
          names.setSafe(row, (text + id % 1000).getBytes(StandardCharsets.UTF_8));
        }
      }
      ColumnVector[] vectors = new ColumnVector[columns];
      FieldVector[] all = {ids, evens, xs, prices, totals, names};
      for (int i = 0; i < all.length; i++) {
        all[i].setValueCount(BATCH_ROWS);
        if (i < columns) {
          vectors[i] = new ArrowColumnVector(all[i]);
        } else {
          all[i].close();
        }
      }
      return new ColumnarBatch(vectors, BATCH_ROWS);
    }

    @Override
    public ColumnarBatch get() {
      return current;
    }

    private void closeCurrent() {
      if (current != null) {
        current.close();
        current = null;
      }
    }

    @Override
    public void close() {
      closeCurrent();
      allocator.close();
    }
  }
}
