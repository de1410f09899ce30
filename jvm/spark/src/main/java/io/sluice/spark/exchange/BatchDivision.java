package io.sluice.spark.exchange;

import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.columnar.RangeKeys;
import java.io.Serializable;
import java.util.Optional;
import org.apache.spark.sql.types.StructType;

/**
 * How the native core divides batches of an exchange's rows.
 *
 * @param schema of the rows
 * @param types the same for the native core: {@link BatchTypes}
 * @param numbers the partitioning, as {@code NativeColumns.batchOpen} takes it; null for ranges, whose bounds are known
 *     in the tasks
 * @param ranges the keys of ranges; null for another partitioning
 */
record BatchDivision(StructType schema, String types, long[] numbers, RangeKeys ranges) implements Serializable {
  /** More columns are not worth it: a chunk of rows and their words would be beyond the nearest caches. */
  private static final int MOST_COLUMNS = 1000;

  /** Empty where the native core has no columns for a type. */
  static Optional<BatchDivision> of(StructType schema, long[] numbers) {
    return types(schema).map(types -> new BatchDivision(schema, types, numbers, null));
  }

  /** The same by ranges. */
  static Optional<BatchDivision> ofRanges(StructType schema, RangeKeys keys) {
    return types(schema).map(types -> new BatchDivision(schema, types, null, keys));
  }

  private static Optional<String> types(StructType schema) {
    return schema.size() > MOST_COLUMNS ? Optional.empty() : BatchTypes.of(schema);
  }
}
