package io.sluice.systemtests;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;

/**
 * Three numbers that identify a result, computed from the rows' bytes without a shuffle.
 *
 * @param rows how many
 * @param content sum of the rows' 64-bit hashes: equal for equal multisets of rows
 * @param sequence a polynomial over those hashes in order of partition and row: equal for equal sequences
 */
record Fingerprint(long rows, long content, long sequence) implements java.io.Serializable {
  private static final long BASE = 0x9E3779B97F4A7C15L;
  private static final long SEED = 42L;
  private static final Fingerprint EMPTY = new Fingerprint(0, 0, 0);

  static Fingerprint of(Dataset<?> data) {
    return of(Plans.rows(data));
  }

  static Fingerprint of(JavaRDD<InternalRow> rows) {
    List<Fingerprint> partitions = rows.mapPartitions(Fingerprint::ofPartition).collect();
    return partitions.stream().reduce(EMPTY, Fingerprint::followedBy);
  }

  private static Iterator<Fingerprint> ofPartition(Iterator<InternalRow> rows) {
    long count = 0;
    long content = 0;
    long sequence = 0;
    while (rows.hasNext()) {
      long hash = hash((UnsafeRow) rows.next());
      count++;
      content += hash;
      sequence = sequence * BASE + hash;
    }
    return List.of(new Fingerprint(count, content, sequence)).iterator();
  }

  private static long hash(UnsafeRow row) {
    return XXH64.hashUnsafeBytes(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(),
        SEED + row.numFields());
  }

  /** Equal for results with the same rows in any order. */
  Fingerprint unordered() {
    return new Fingerprint(rows, content, 0);
  }

  private Fingerprint followedBy(Fingerprint next) {
    return new Fingerprint(
        rows + next.rows, content + next.content, sequence * power(next.rows) + next.sequence);
  }

  private static long power(long exponent) {
    long result = 1;
    long square = BASE;
    for (long rest = exponent; rest > 0; rest >>= 1) {
      result = (rest & 1) == 1 ? result * square : result;
      square *= square;
    }
    return result;
  }
}
