package io.sluice.spark.exchange;

import io.sluice.spark.columnar.BatchTypes;
import java.io.Serializable;
import java.util.Optional;
import org.apache.spark.sql.types.StructType;

/**
 * How the native core divides batches of an exchange's rows.
 *
 * @param schema of the rows
 * @param types the same for the native core: {@link BatchTypes}
 * @param numbers the partitioning, as {@code NativeColumns.batchOpen} takes it
 */
record BatchDivision(StructType schema, String types, long[] numbers) implements Serializable {
  /** More columns are not worth it: a chunk of rows and their words would be beyond the nearest caches. */
  private static final int MOST_COLUMNS = 1000;

  /** Empty where the native core has no columns for a type. */
  static Optional<BatchDivision> of(StructType schema, long[] numbers) {
    return schema.size() > MOST_COLUMNS ? Optional.empty()
        : BatchTypes.of(schema).map(types -> new BatchDivision(schema, types, numbers));
  }
}
