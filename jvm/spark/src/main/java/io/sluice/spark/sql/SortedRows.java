package io.sluice.spark.sql;

import java.io.IOException;

/** Rows in order, one at a time. Used by one thread. */
interface SortedRows {
  /** Whether there is a row after the current one. */
  boolean hasNext();

  /** Moves to the next row; the one before is gone. */
  void loadNext() throws IOException;

  /** The array that holds the current row; null when {@link #offset} is an address. */
  Object base();

  long offset();

  /** Length of the current row. */
  int bytes();
}
