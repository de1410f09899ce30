package io.sluice.bench.check;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.Row;

/**
 * One partition's share of a {@link Digest}; made on an executor, sent to the driver. No record, because Kryo cannot
 * write records.
 */
final class PartitionDigest implements Serializable {

  private static final long serialVersionUID = 1L;

  private final long rows;
  private final long xor;
  private final long sum;
  private final boolean ordered;
  private final SortKey first;
  private final SortKey last;

  /**
   * @param rows number of rows
   * @param xor exclusive or of the row hashes
   * @param sum wrapping sum of the row hashes
   * @param ordered whether the keys ascend
   * @param first the smallest key by position, or null if there is no row
   * @param last the last key by position, or null if there is no row
   */
  private PartitionDigest(long rows, long xor, long sum, boolean ordered, SortKey first, SortKey last) {
    this.rows = rows;
    this.xor = xor;
    this.sum = sum;
    this.ordered = ordered;
    this.first = first;
    this.last = last;
  }

  boolean ordered() {
    return ordered;
  }

  /**
   * Digests rows of (hash, key columns…); without key columns any order is right.
   *
   * @param descending for every key column, whether it must descend
   */
  static PartitionDigest of(Iterator<Row> rows, List<Boolean> descending) {
    return of(rows, row -> row.getLong(0), row -> SortKey.after(row, 0, descending));
  }

  /** Digests {@code records} by their hashes and the keys that must ascend. */
  static <T> PartitionDigest of(Iterator<T> records, ToLongFunction<? super T> hashOf,
      Function<? super T, SortKey> keyOf) {
    long count = 0;
    long xor = 0;
    long sum = 0;
    boolean ordered = true;
    SortKey first = null;
    SortKey last = null;
    while (records.hasNext()) {
      T record = records.next();
      long hash = hashOf.applyAsLong(record);
      count++;
      xor ^= hash;
      sum += hash;
      SortKey key = keyOf.apply(record);
      ordered &= last == null || last.compareTo(key) <= 0;
      first = first == null ? key : first;
      last = key;
    }
    return new PartitionDigest(count, xor, sum, ordered, first, last);
  }

  /** The digest of a result whose partitions, in order, are {@code partitions}. */
  static Digest combine(List<PartitionDigest> partitions) {
    long count = 0;
    long xor = 0;
    long sum = 0;
    boolean ordered = true;
    SortKey last = null;
    for (PartitionDigest partition : partitions) {
      count += partition.rows;
      xor ^= partition.xor;
      sum += partition.sum;
      ordered &= partition.ordered;
      if (partition.rows > 0) {
        ordered &= last == null || last.compareTo(partition.first) <= 0;
        last = partition.last;
      }
    }
    return new Digest(count, xor, sum, ordered);
  }
}
