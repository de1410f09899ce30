package io.sluice.spark.columnar;

import io.sluice.spark.SluiceException;
import io.sluice.spark.decode.ReadMemory;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Describes batches of Spark's vectors, and of vectors of other classes, which are read value by value. Values outside
 * the Java heap that lie as in Arrow's arrays are described where they are, all others are copied. For one task; one
 * thread.
 */
public final class VectorExport implements BatchExport {
  private final StructType schema;
  private final ColumnExport[] columns;
  /** Format strings and addresses of buffers. */
  private final ReadMemory.Piece headers;
  /** Masks of nulls, values of a fixed width, and offsets, of all columns. */
  private final CopyBuffer fixed;

  /**
   * @param schema of all batches, of types that {@link BatchTypes} has formats for
   * @param memory for the copies
   */
  public VectorExport(StructType schema, ReadMemory memory) {
    this.schema = schema;
    this.fixed = new CopyBuffer(memory);
    StructField[] fields = schema.fields();
    // Before memory is taken.
    ValueLayout[] layouts = layouts(fields);
    this.columns = new ColumnExport[fields.length];
    this.headers = memory.take(Math.max(1, fields.length) * ColumnExport.HEADER_BYTES, "what describes columns");
    for (int i = 0; i < fields.length; i++) {
      long header = headers.address() + i * ColumnExport.HEADER_BYTES;
      columns[i] = new ColumnExport(i, fields[i], layouts[i], header, memory);
    }
  }

  private static ValueLayout[] layouts(StructField[] fields) {
    ValueLayout[] layouts = new ValueLayout[fields.length];
    for (int i = 0; i < fields.length; i++) {
      StructField field = fields[i];
      layouts[i] = ValueLayout.of(field.dataType())
          .orElseThrow(() -> new IllegalArgumentException("no batches of " + field.dataType().simpleString()));
    }
    return layouts;
  }

  @Override
  public boolean export(ColumnarBatch batch, ArrowStructs structs) {
    boolean described = false;
    try {
      described = describe(batch, structs);
      return described;
    } finally {
      if (!described) {
        freeCopies();
      }
    }
  }

  private boolean describe(ColumnarBatch batch, ArrowStructs structs) {
    int rows = batch.numRows();
    // Spark's code reads the plan's columns, which are the first. Iceberg has more behind them where rows are deleted.
    if (batch.numCols() < columns.length) {
      throw new SluiceException("a batch has " + batch.numCols() + " columns, and the plan " + columns.length + ": "
          + schema.simpleString());
    }
    long bytes = 0;
    for (ColumnExport column : columns) {
      bytes += column.fixedBytes(rows);
    }
    fixed.freeIfLarge();
    if (!fixed.tryEnsure(0, bytes)) {
      return false;
    }
    long at = fixed.address();
    for (int i = 0; i < columns.length; i++) {
      if (!columns[i].export(batch.column(i), rows, at, structs)) {
        return false;
      }
      at += columns[i].fixedBytes(rows);
    }
    return true;
  }

  /** How each column of the last batch came into an array. */
  public List<ColumnPath> paths() {
    List<ColumnPath> paths = new ArrayList<>(columns.length);
    for (ColumnExport column : columns) {
      paths.add(column.path());
    }
    return paths;
  }

  /** Frees what the last batch was copied to. The next one may take it again. */
  public void freeCopies() {
    fixed.close();
    for (ColumnExport column : columns) {
      column.freeCopies();
    }
  }

  @Override
  public void close() {
    headers.free();
    freeCopies();
  }
}
