package io.sluice.spark.sql;

import java.io.IOException;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.collection.Iterator;

// stub
public final class BinaryRowSorter {
  private BinaryRowSorter() {}

  public static BinaryRowSorter create(RowOrder order, boolean radixSort) {
    return new BinaryRowSorter();
  }

  public void insertRow(UnsafeRow row) throws IOException {
    throw new UnsupportedOperationException();
  }

  public void insertAll(Iterator<?> rows) throws IOException {
    throw new UnsupportedOperationException();
  }

  public Iterator<UnsafeRow> sort() throws IOException {
    throw new UnsupportedOperationException();
  }

  public long getSortTimeNanos() {
    return 0;
  }

  public long getPeakMemoryUsage() {
    return 0;
  }

  public void cleanupResources() {}
}
