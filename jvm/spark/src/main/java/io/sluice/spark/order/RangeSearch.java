package io.sluice.spark.order;

import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.RowKey;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import org.apache.spark.unsafe.Platform;
import scala.math.Ordering;

/**
 * Finds the range of a key among the bounds of a {@link RangePartitioner}, which compares the key with one bound after
 * the other, or by a binary search where there are more than 128. Here keys and bounds are looked at as rows. Where the
 * ordering is one that {@link KeyOrders} knows, a binary search among the bounds' prefixes finds the range. Else {@link
 * OrderGuess} learns an order from the bounds, and the partitioner's ordering is asked about the two bounds beside the
 * place that the search finds: if the key is above the one and not above the other, it is the place that the
 * partitioner finds. If not, the place beside it is tried. One thread.
 */
public final class RangeSearch {
  /** Returned where the ordering does not confirm the place. */
  public static final int REFUTED = -1;
  /** Returned for null and for keys of another class than the bounds: nothing is guessed, the ordering not asked. */
  public static final int NO_GUESS = -2;
  /** With fewer bounds the partitioner is as fast. */
  private static final int LEAST_BOUNDS = 4;
  /** Up to so many bounds the partitioner asks {@code gt} about each, whatever the keys' type. */
  private static final int MOST_COMPARED_IN_TURN = 128;

  private final Object[] bounds;
  private final Ordering<Object> ordering;
  private final boolean ascending;
  /** Of the bounds. */
  private final byte[][] rows;
  private final long[] prefixes;
  private final OrderByParts order;
  private final boolean asksOrdering;
  private final RecordEncoder encoder = RecordEncoder.ofAllClasses();
  private final RowKey key = new RowKey();
  private final RowKey bound = new RowKey();

  private RangeSearch(Object[] bounds, Ordering<Object> ordering, boolean ascending, byte[][] rows,
      OrderByParts order, boolean asksOrdering) {
    this.bounds = bounds;
    this.ordering = ordering;
    this.ascending = ascending;
    this.rows = rows;
    this.order = order;
    this.asksOrdering = asksOrdering;
    this.prefixes = new long[bounds.length];
    Arrays.setAll(prefixes, i -> order.prefix(boundAt(i), 0));
  }

  /**
   * Empty where there is nothing to gain: for other partitioners, few bounds, keys without a usual order.
   *
   * @param guessOrder whether an ordering that is not known may be guessed
   */
  public static Optional<RangeSearch> of(Partitioner partitioner, boolean guessOrder) {
    if (partitioner.getClass() != RangePartitioner.class) {
      return Optional.empty();
    }
    try {
      Object array = field(partitioner, "rangeBounds");
      boolean primitive = array.getClass().getComponentType().isPrimitive();
      int count = Array.getLength(array);
      if (count < LEAST_BOUNDS || primitive && count > MOST_COMPARED_IN_TURN) {
        return Optional.empty();
      }
      Object[] bounds = new Object[count];
      Arrays.setAll(bounds, i -> Array.get(array, i));
      @SuppressWarnings("unchecked") // The ordering is that of the bounds.
      Ordering<Object> ordering = (Ordering<Object>) field(partitioner, "ordering");
      return of(bounds, ordering, (Boolean) field(partitioner, "ascending"), guessOrder);
    } catch (ReflectiveOperationException | RuntimeException closed) {
      // Another Spark's class: its own search is always right.
      return Optional.empty();
    }
  }

  /** Scala names a private field as it is, or with the class before it. */
  private static Object field(Partitioner partitioner, String name) throws ReflectiveOperationException {
    for (Field field : RangePartitioner.class.getDeclaredFields()) {
      if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
        field.setAccessible(true);
        return field.get(partitioner);
      }
    }
    throw new NoSuchFieldException(name);
  }

  private static Optional<RangeSearch> of(
      Object[] bounds, Ordering<Object> ordering, boolean ascending, boolean guessOrder) {
    byte[][] rows = rows(bounds);
    if (rows == null) {
      return Optional.empty();
    }
    RowKey first = new RowKey();
    point(first, rows[0]);
    Optional<OrderByParts> known = KeyOrders.byParts(ordering, first).filter(RangeSearch::needsNoProof);
    if (known.isPresent() && rises(rows, known.get())) {
      return known.map(order -> new RangeSearch(bounds, ordering, ascending, rows, order, false));
    }
    return (guessOrder ? guess(rows) : Optional.<OrderByParts>empty())
        .map(order -> new RangeSearch(bounds, ordering, ascending, rows, order, true));
  }

  /** Scala's orderings of fractions have two opinions of NaN and zeros: one when they compare, one in {@code gt}. */
  private static boolean needsNoProof(OrderByParts order) {
    return order.steps().stream().map(OrderByParts.Step::order).noneMatch(part -> part instanceof PartOrder.Fractions
        || part instanceof PartOrder.Reversed && ((PartOrder.Reversed) part).forwards() instanceof PartOrder.Fractions);
  }

  /** A row of each bound; null when one cannot be written as a row. */
  private static byte[][] rows(Object[] bounds) {
    RecordEncoder encoder = RecordEncoder.ofAllClasses();
    byte[][] rows = new byte[bounds.length][];
    for (int i = 0; i < bounds.length; i++) {
      if (!encoder.encode(bounds[i], null)) {
        return null;
      }
      rows[i] = Arrays.copyOf(encoder.buffer(), encoder.length());
    }
    return rows;
  }

  private static void point(RowKey key, byte[] row) {
    key.pointTo(row, Platform.BYTE_ARRAY_OFFSET, row.length);
  }

  private static boolean rises(byte[][] rows, OrderByParts order) {
    RowKey before = new RowKey();
    RowKey next = new RowKey();
    for (int i = 1; i < rows.length; i++) {
      point(before, rows[i - 1]);
      point(next, rows[i]);
      if (!order.hasPrefix(before) || !order.hasPrefix(next) || order.compare(before, next) >= 0) {
        return false;
      }
    }
    return true;
  }

  /** An order in which the bounds rise, as they do in the partitioner's. */
  private static Optional<OrderByParts> guess(byte[][] rows) {
    RowKey before = new RowKey();
    RowKey next = new RowKey();
    point(before, rows[0]);
    Optional<OrderGuess> guess = OrderGuess.of(before);
    if (!guess.isPresent()) {
      return Optional.empty();
    }
    for (int i = 1; i < rows.length; i++) {
      point(before, rows[i - 1]);
      point(next, rows[i]);
      if (!next.hasParts() || !next.structure().equals(before.structure())) {
        return Optional.empty();
      }
      guess.get().note(-1, before, next);
    }
    return guess.get().guess();
  }

  private RowKey boundAt(int index) {
    point(bound, rows[index]);
    return bound;
  }

  /** Whether the partitioner's ordering is asked about each place. */
  public boolean asksOrdering() {
    return asksOrdering;
  }

  /** The partition of {@code object}, {@link #REFUTED} or {@link #NO_GUESS}. */
  public int partitionOf(Object object) {
    return object != null && encoder.encode(object, null) ? partitionOf(object, encoder.buffer(), encoder.length())
        : NO_GUESS;
  }

  /** As {@link #partitionOf(Object)}, of the key of the row in the first {@code bytes} of {@code row}. */
  public int partitionOf(Object object, byte[] row, int bytes) {
    key.pointTo(row, Platform.BYTE_ARRAY_OFFSET, bytes);
    if (!order.hasPrefix(key)) {
      return NO_GUESS;
    }
    long prefix = order.prefix(key, 0);
    int low = 0;
    int high = bounds.length;
    while (low < high) {
      int middle = low + high >>> 1;
      if (isAbove(prefix, middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    int place = asksOrdering ? proven(object, low) : low;
    return place == REFUTED ? REFUTED : ascending ? place : bounds.length - place;
  }

  private boolean isAbove(long prefix, int index) {
    int answer = Long.compareUnsigned(prefix, prefixes[index]);
    return answer > 0
        || answer == 0 && !order.canSortFullyWithPrefix(0) && order.compare(key, boundAt(index)) > 0;
  }

  /**
   * The place of {@code object} if the ordering puts it at {@code place} or beside it, else {@link #REFUTED}. It is
   * beside where key and bound are equal in the parts that were learned, or the ordering calls them equal and the guess
   * does not.
   */
  private int proven(Object object, int place) {
    if (place > 0 && !isAboveByOrdering(object, place - 1)) {
      return place == 1 || isAboveByOrdering(object, place - 2) ? place - 1 : REFUTED;
    }
    if (place == bounds.length || !isAboveByOrdering(object, place)) {
      return place;
    }
    return place + 1 == bounds.length || !isAboveByOrdering(object, place + 1) ? place + 1 : REFUTED;
  }

  /** Whether the ordering puts the key above a bound: the partitioner's binary search asks by another method. */
  private boolean isAboveByOrdering(Object object, int index) {
    return bounds.length > MOST_COMPARED_IN_TURN ? ordering.compare(object, bounds[index]) > 0
        : ordering.gt(object, bounds[index]);
  }

  @Override
  public String toString() {
    return bounds.length + " bounds of keys " + order;
  }
}
