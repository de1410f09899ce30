package io.sluice.spark.order;

import io.sluice.spark.NormalizedKeyOrdering;
import io.sluice.spark.record.RowKey;
import java.util.Comparator;

/**
 * An order of keys that are stored in rows: by a prefix, which is an unsigned number made of each key; where two
 * prefixes are equal, by the prefixes at the next depth ({@link #hasNextPrefix}); where all are equal, by {@link
 * #compare}. {@link KeyOrders} finds the one that orders as a job's comparator does. Immutable, any thread.
 */
interface KeyOrder {

  /** Whether {@code key} has a prefix; a key without one is compared by the job's comparator. */
  boolean hasPrefix(RowKey key);

  /**
   * The key's prefix: of two keys with different prefixes, the one with the smaller prefix, compared as unsigned, comes
   * first. Only for a key that {@link #hasPrefix}.
   *
   * @param depth 0 for the first prefix; one more for each depth at which the keys have equal prefixes and {@link
   *     #hasNextPrefix}
   */
  long prefix(RowKey key, int depth);

  /** Whether keys that are equal up to this prefix, of this depth, can be ordered by their prefixes at the next one. */
  boolean hasNextPrefix(long prefix, int depth);

  /** Whether the prefix at this depth says anything of {@code key} that those before do not. */
  boolean reaches(RowKey key, int depth);

  /** Whether keys with the same prefixes up to this depth are equal. */
  boolean canSortFullyWithPrefix(int depth);

  /** Compares two keys that {@link #hasPrefix}, as the job's comparator would. */
  int compare(RowKey left, RowKey right);

  /**
   * The order of a job whose comparator implements {@link NormalizedKeyOrdering}.
   *
   * @param reversed whether {@code comparator} is the reverse of what {@code numbers} says
   */
  record OfJob(NormalizedKeyOrdering<Object> numbers, Comparator<Object> comparator, boolean reversed)
      implements
        KeyOrder {
    @Override
    public boolean hasPrefix(RowKey key) {
      return !key.isSerialized() && !key.isNull();
    }

    @Override
    public long prefix(RowKey key, int depth) {
      long prefix = numbers.prefix(key.object());
      return reversed ? ~prefix : prefix;
    }

    @Override
    public boolean hasNextPrefix(long prefix, int depth) {
      return false;
    }

    @Override
    public boolean reaches(RowKey key, int depth) {
      return depth == 0;
    }

    @Override
    public boolean canSortFullyWithPrefix(int depth) {
      return numbers.canSortFullyWithPrefix();
    }

    @Override
    public int compare(RowKey left, RowKey right) {
      return reversed ? comparator.compare(right.object(), left.object())
          : comparator.compare(left.object(), right.object());
    }
  }
}
