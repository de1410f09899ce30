package io.sluice.bench.report;

import java.util.Arrays;
import java.util.Collection;
import java.util.function.ToDoubleFunction;

/**
 * The spread of a sample.
 *
 * @param median the middle value, or the mean of the two middle ones
 * @param min the smallest
 * @param max the largest
 */
public record Statistics(double median, double min, double max) {

  /** The statistics of {@code figure} over {@code sample}, which must not be empty. */
  public static <T> Statistics of(Collection<T> sample, ToDoubleFunction<T> figure) {
    double[] sorted = sample.stream().mapToDouble(figure).sorted().toArray();
    return ofSorted(sorted);
  }

  /** The statistics of {@code values}, in any order; at least one. */
  public static Statistics of(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return ofSorted(sorted);
  }

  /** The geometric mean of {@code ratios}, all positive; at least one. */
  public static double geometricMean(double... ratios) {
    return Math.exp(Arrays.stream(ratios).map(Math::log).average().orElseThrow());
  }

  private static Statistics ofSorted(double[] sorted) {
    if (sorted.length == 0) {
      throw new IllegalArgumentException("no values");
    }
    int middle = sorted.length / 2;
    double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return new Statistics(median, sorted[0], sorted[sorted.length - 1]);
  }
}
