package io.sluice.systemtests;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;

/**
 * One row of a result.
 *
 * @param partition where it is
 * @param keys the last column: what the rows were sorted by, hashed so that keys which compare as equal are equal
 * @param content hash of all bytes of the row
 */
record PlacedRow(int partition, long keys, long content) implements Serializable {
  /** All rows, in order of partition and place. The last column is a long without nulls. */
  static List<PlacedRow> of(Dataset<Row> data) {
    return Plans.rows(data).mapPartitions(PlacedRow::ofPartition).collect();
  }

  private static Iterator<PlacedRow> ofPartition(Iterator<InternalRow> rows) {
    List<PlacedRow> placed = new ArrayList<>();
    while (rows.hasNext()) {
      UnsafeRow row = (UnsafeRow) rows.next();
      placed.add(new PlacedRow(TaskContext.getPartitionId(), row.getLong(row.numFields() - 1),
          XXH64.hashUnsafeBytes(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), 42)));
    }
    return placed.iterator();
  }
}
