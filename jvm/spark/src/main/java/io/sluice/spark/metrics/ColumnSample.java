package io.sluice.spark.metrics;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

/**
 * How the fields of a shuffle's rows are encoded in some of its frames.
 *
 * @param frames how many were looked at
 * @param columns an {@code ArrayList}, which is serializable
 */
public record ColumnSample(int shuffleId, int frames, ArrayList<ColumnBytes> columns) implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Both, with at most {@code most} fields: those with the most encoded bytes, and one for the others together. */
  public static List<ColumnBytes> sum(List<ColumnBytes> some, List<ColumnBytes> others, int most) {
    TreeMap<Integer, ColumnBytes> byField = new TreeMap<>();
    some.forEach(column -> byField.merge(column.field(), column, ColumnBytes::plus));
    others.forEach(column -> byField.merge(column.field(), column, ColumnBytes::plus));
    List<ColumnBytes> largest = new ArrayList<>(byField.values());
    largest.removeIf(column -> column.field() == ColumnBytes.REST);
    largest.sort(Comparator.comparingLong(ColumnBytes::encodedBytes).reversed());
    ColumnBytes rest = byField.getOrDefault(ColumnBytes.REST, new ColumnBytes(ColumnBytes.REST, 0, null));
    for (ColumnBytes small : largest.subList(Math.min(most, largest.size()), largest.size())) {
      rest = rest.plus(small);
    }
    List<ColumnBytes> kept = new ArrayList<>(largest.subList(0, Math.min(most, largest.size())));
    if (rest.encodedBytes() > 0 || rest.rowBytes() > 0) {
      kept.add(rest);
    }
    return kept;
  }

  /** Of the same shuffle, with at most {@code most} fields. */
  ColumnSample plus(ColumnSample other, int most) {
    return new ColumnSample(shuffleId, frames + other.frames, new ArrayList<>(sum(columns, other.columns, most)));
  }
}
