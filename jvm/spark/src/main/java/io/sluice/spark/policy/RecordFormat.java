package io.sluice.spark.policy;

/** How the records of a shuffle become the rows of its frames. */
public enum RecordFormat {
  /** Rows of Spark SQL, as they are. */
  SQL_ROWS,
  /** Keys and values of an RDD's shuffle, made into rows by package {@code io.sluice.spark.record}. */
  RDD_RECORDS
}
