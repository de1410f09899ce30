package io.sluice.spark;

/**
 * May be implemented by the ordering or comparator that a job sorts its RDD's keys by, so that Sluice can sort most
 * keys by a prefix, without creating their objects.
 *
 * <p>Usable from Java (on a {@code Comparator}) and from Scala (on an {@code Ordering}). Where two prefixes are equal,
 * the comparator itself decides. Implementations must be stateless; calls come from task threads.
 *
 * @param <K> class of the keys
 */
public interface NormalizedKeyOrdering<K> {
  /**
   * A number that orders as {@code key} does: for any two keys, a smaller number, compared as <em>unsigned</em>,
   * means a smaller key. Different keys may have the same number.
   */
  long prefix(K key);

  /** Whether keys with the same prefix are equal, so that the comparator is never needed. */
  boolean canSortFullyWithPrefix();
}
