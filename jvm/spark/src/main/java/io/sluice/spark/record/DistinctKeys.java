package io.sluice.spark.record;

/** A set of keys, numbered from 0 in the order in which they were added. */
public interface DistinctKeys {
  /** How many there are. */
  int size();

  /** The key of a number: of those that are equal, the one that was added. */
  Object key(int number);

  /** What {@code hashCode} of each key returns, by number; 0 for null. */
  int[] hashCodes();

  /** The number of the key that is null; -1 when none is. */
  int nullNumber();

  /** Bytes of the set's own arrays on the heap. */
  long heapBytes();

  /** Lets go of all keys and of the arrays that hold them; the set is of no more use. */
  void clear();

  /** The objects that the set keeps, in an array whose end may be empty; of some sets none. */
  Object[] objects();
}
