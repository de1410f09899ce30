package io.sluice.spark.sql;

import org.apache.spark.sql.execution.RecordBinaryComparator;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * The order in which Spark sorts a task's rows before it gives them partitions by round robin: by the hash code of the
 * row, then by its length, then byte by byte. Rows that are equal in it are the same bytes, so it gives the same
 * sequence in whatever order rows come.
 *
 * <p>Spark's hash code of a row is that of {@code UnsafeRow.hashCode}. Immutable; any thread.
 */
public final class BinaryOrder implements RowOrder {
  private static final long serialVersionUID = 1;
  private static final int SEED = 42;

  private final int fields;

  /** @param fields of the rows */
  public BinaryOrder(int fields) {
    this.fields = fields;
  }

  @Override
  public int fields() {
    return fields;
  }

  @Override
  public Part first() {
    return new Part(0, 0, true);
  }

  @Override
  public boolean hasOnePart() {
    return true;
  }

  @Override
  public boolean isOneNumber() {
    return false;
  }

  @Override
  public boolean isNull(Object base, long row) {
    return false;
  }

  @Override
  public boolean areNullsFirst() {
    return true;
  }

  /** The hash code as a signed number, then the length. */
  @Override
  public long number(Part part, Object base, long row, int bytes) {
    int hash = Murmur3_x86_32.hashUnsafeWords(base, row, bytes, SEED);
    return (long) (hash ^ Integer.MIN_VALUE) << Integer.SIZE | bytes;
  }

  @Override
  public int undecided(Part part, long number) {
    return 0;
  }

  @Override
  public Part behind(Part part, long number, int equalBits) {
    return part;
  }

  @Override
  public boolean areEqualBefore(Part part, Object leftBase, long left, Object rightBase, long right) {
    return true;
  }

  @Override
  public boolean isEnd(int column) {
    return false;
  }

  @Override
  public boolean isOfBytes(Part part) {
    return false;
  }

  @Override
  public int end(Part part) {
    return 0;
  }

  @Override
  public int length(Part part, Object base, long row) {
    return 0;
  }

  @Override
  public int compare(
      Object leftBase, long left, int leftBytes, Object rightBase, long right, int rightBytes, int from) {
    return Comparator.BYTES.compare(leftBase, left, leftBytes, rightBase, right, rightBytes);
  }

  /** Loaded where rows are compared only. */
  private static final class Comparator {
    static final RecordBinaryComparator BYTES = new RecordBinaryComparator();
  }
}
