package io.sluice.spark.columnar;

import io.sluice.spark.sql.SortColumn;
import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.types.StructType;

/**
 * The keys of ranges for the native core: columns that it orders as Spark does. Made on the driver, sent with the plan.
 * Immutable; any thread.
 *
 * @param types of the columns, one format a line: {@link BatchTypes}
 * @param keys as {@code NativeColumns.rangesOpen} takes them
 */
public record RangeKeys(String types, long[] keys) implements Serializable {
  private static final long serialVersionUID = 1;
  private static final int NUMBERS = 3;

  /**
   * Empty where the native core has no order for a column.
   *
   * @param columns the first key first. Where the key is a number of a wider type than its column, the column's
   */
  public static Optional<RangeKeys> of(List<SortColumn> columns, StructType schema) {
    StructType types = new StructType();
    long[] keys = new long[NUMBERS * columns.size()];
    for (int i = 0; i < columns.size(); i++) {
      SortColumn column = columns.get(i);
      types = types.add(schema.fields()[column.ordinal()]);
      keys[NUMBERS * i] = column.ordinal();
      keys[NUMBERS * i + 1] = column.isDescending() ? 1 : 0;
      keys[NUMBERS * i + 2] = column.areNullsFirst() ? 1 : 0;
    }
    return BatchTypes.of(types).map(formats -> new RangeKeys(formats, keys));
  }

  /** How many keys there are. */
  int count() {
    return keys.length / NUMBERS;
  }
}
