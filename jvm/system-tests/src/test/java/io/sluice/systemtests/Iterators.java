package io.sluice.systemtests;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** Ways for a task to use the rows it reads. */
final class Iterators {
  private Iterators() {}

  /** Looks at one row and leaves the others. */
  static Iterator<Integer> firstOnly(Iterator<InternalRow> rows) {
    return rows.hasNext() ? List.of(rows.next().numFields()).iterator() : Collections.emptyIterator();
  }
}
