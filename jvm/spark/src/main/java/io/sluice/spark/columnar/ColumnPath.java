package io.sluice.spark.columnar;

/**
 * How the values of one column of a batch came into an Arrow array. Batches of one task may differ in it: the
 * dictionary of a Parquet file ends, a later file has nulls, lacks the column or gives vectors of another class.
 *
 * @param way of the values
 * @param nulls whether the array has a mask of nulls
 * @param vector class of the column's vector
 */
public record ColumnPath(Way way, boolean nulls, Class<?> vector) {
  /** Which code described or copied the values. */
  public enum Way {
    /** The array's buffers of values are the vector's. */
    IN_PLACE,
    /** All values, or the bytes of all, were copied in one piece. */
    WHOLE,
    /** Each id of the dictionary was looked up once. */
    DICTIONARY,
    /** Each value was asked for. */
    VALUE_BY_VALUE,
    /** All values are null. */
    NO_VALUES
  }
}
