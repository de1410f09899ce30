package io.sluice.bench.check;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.Row;

/**
 * The values by which a row is sorted, compared as Spark compares them: numbers and dates by value, binaries as
 * unsigned bytes, strings by {@link String#compareTo}, as {@code sortByKey} does. (SQL compares strings by their
 * UTF-8 bytes, which is the same unless there are surrogates.) An empty key equals every other empty key, so
 * unsorted results count as ordered.
 */
final class SortKey implements Comparable<SortKey>, Serializable {

  private static final long serialVersionUID = 1L;

  /** The key of a record whose order does not matter. */
  static final SortKey NONE = new SortKey();

  private final Object[] values;

  SortKey(Object... values) {
    this.values = values;
  }

  /** The columns of {@code row} behind position {@code hashAt}; {@code descending} has an element for each. */
  static SortKey after(Row row, int hashAt, List<Boolean> descending) {
    Object[] values = new Object[row.length() - hashAt - 1];
    for (int i = 0; i < values.length; i++) {
      Object value = row.get(hashAt + 1 + i);
      values[i] = descending.get(i) ? new Descending(value) : value;
    }
    return new SortKey(values);
  }

  @Override
  public int compareTo(SortKey other) {
    for (int i = 0; i < values.length; i++) {
      int order = compare(values[i], other.values[i]);
      if (order != 0) {
        return order;
      }
    }
    return 0;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SortKey key && Arrays.deepEquals(values, key.values);
  }

  @Override
  public int hashCode() {
    return Arrays.deepHashCode(values);
  }

  @SuppressWarnings("unchecked")
  private static int compare(Object left, Object right) {
    if (left instanceof byte[] a && right instanceof byte[] b) {
      return Arrays.compareUnsigned(a, b);
    }
    if (left instanceof Comparable<?> a && left.getClass() == right.getClass()) {
      return ((Comparable<Object>) a).compareTo(right);
    }
    throw new IllegalArgumentException("cannot check the order of " + left + " and " + right);
  }

  /** A value that comes the earlier the larger it is. */
  private static final class Descending implements Comparable<Descending>, Serializable {

    private static final long serialVersionUID = 1L;

    private final Object value;

    Descending(Object value) {
      this.value = value;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Descending same && Objects.deepEquals(value, same.value);
    }

    @Override
    public int hashCode() {
      return Arrays.deepHashCode(new Object[] {value});
    }

    @Override
    public int compareTo(Descending other) {
      return compare(other.value, value);
    }
  }
}
