package io.sluice.spark.sql;

import java.io.Serializable;
import java.util.Optional;

/**
 * An order of binary rows, and numbers of 64 bits that stand for parts of it: rows with a lower number (unsigned) come
 * first, and those with the same number are told apart by the number of the next part.
 *
 * <p>A row is given by the object that holds it (null if {@code row} is an address), where it starts and how long it
 * is. Immutable; any thread.
 */
public interface RowOrder extends Serializable {
  /**
   * A part of the order; all rows that it is asked of are equal in the columns and bytes before it.
   *
   * @param column the first of the columns
   * @param from the first of the bytes, in a column of bytes; 0 for the first one that is not known to be equal
   * @param marked whether the column's null marker is in the number; if not, all rows have a value or none has
   */
  record Part(int column, int from, boolean marked) {}

  /** Fields of the rows. */
  int fields();

  /** The part that rows are sorted by first. */
  Part first();

  /** Whether rows with the same number of the first part can only be compared; there is no other part then. */
  boolean hasOnePart();

  /** Whether a number has all of a value of the only column, if rows without one are kept apart. */
  boolean isOneNumber();

  /** Whether a row has no value in the only column. */
  boolean isNull(Object base, long row);

  /** Whether rows without a value in the only column come before the others. */
  boolean areNullsFirst();

  /** The number of {@code part} of a row. */
  long number(Part part, Object base, long row, int bytes);

  /**
   * The first column of which two rows may differ that both have {@code number} for {@code part}; the number of columns
   * if none.
   */
  int undecided(Part part, long number);

  /**
   * For rows whose numbers of {@code part} have the same highest bits: a part that begins behind the bytes of a column
   * that those bits stand for; {@code part} where it would begin little later, or does not begin with a column of
   * bytes. The bytes may be zeros behind the end of values, which may have other lengths then.
   *
   * @param number of one of the rows
   * @param equalBits how many; 64 if the numbers are equal
   */
  Part behind(Part part, long number, int equalBits);

  /**
   * Whether two rows are equal in those bytes of the first column of {@code part} that lie before the part. Bytes
   * behind the end of a value count as zeros; two nulls are equal.
   */
  boolean areEqualBefore(Part part, Object leftBase, long left, Object rightBase, long right);

  /** Whether {@code column} is the number of columns. */
  boolean isEnd(int column);

  /** Whether the column is one of bytes of which {@code part} has some, without the marker. */
  boolean isOfBytes(Part part);

  /** The byte behind those of {@code part}, for which {@link #isOfBytes} holds. */
  int end(Part part);

  /** Bytes of a row's value in the first column of a part; 0 of null. */
  int length(Part part, Object base, long row);

  /**
   * Collects what can be known of the rows of one sorter, for numbers that tell more of them apart; empty where that
   * makes no difference.
   */
  default Optional<SeenValues> seenValues() {
    return Optional.empty();
  }

  /** Compares two rows, which are equal in the columns before {@code from}. */
  int compare(Object leftBase, long left, int leftBytes, Object rightBase, long right, int rightBytes, int from);
}
