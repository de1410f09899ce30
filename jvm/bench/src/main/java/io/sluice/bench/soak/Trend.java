package io.sluice.bench.soak;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Whether a figure grows with time: the line of least squares through the last three quarters of it, because caches
 * and pools fill in the first.
 *
 * @param samples how many there are in these three quarters
 * @param median of the figure in them
 * @param perHour how much the line rises in an hour
 * @param error standard error of {@code perHour}
 */
record Trend(int samples, double median, double perHour, double error) {

  /** What rises by less than this part of the median in an hour is flat. */
  private static final double FLAT = 0.01;
  /** The true rise is within so many standard errors in 19 of 20 cases. */
  private static final double ERRORS = 2;
  private static final int FEWEST = 8;
  private static final double SKIPPED = 0.25;

  /** What can be said of a figure. */
  enum Verdict { FLAT, GROWS, UNDECIDED }

  /** The trend of {@code values} at {@code hours}, which ascend. */
  static Trend of(double[] hours, double[] values) {
    double from = hours.length == 0 ? 0 : hours[0] + SKIPPED * (hours[hours.length - 1] - hours[0]);
    int skipped = (int) Arrays.stream(hours).filter(hour -> hour < from).count();
    double[] x = Arrays.copyOfRange(hours, skipped, hours.length);
    double[] y = Arrays.copyOfRange(values, skipped, values.length);
    double meanX = Arrays.stream(x).average().orElse(0);
    double meanY = Arrays.stream(y).average().orElse(0);
    double xx = 0;
    double xy = 0;
    for (int i = 0; i < x.length; i++) {
      xx += (x[i] - meanX) * (x[i] - meanX);
      xy += (x[i] - meanX) * (y[i] - meanY);
    }
    double slope = xx == 0 ? 0 : xy / xx;
    double squares = 0;
    for (int i = 0; i < x.length; i++) {
      double off = y[i] - meanY - slope * (x[i] - meanX);
      squares += off * off;
    }
    double error = x.length < 3 || xx == 0 ? Double.POSITIVE_INFINITY : Math.sqrt(squares / (x.length - 2) / xx);
    double[] sorted = y.clone();
    Arrays.sort(sorted);
    return new Trend(x.length, y.length == 0 ? 0 : sorted[y.length / 2], slope, error);
  }

  /** This one less the mean of others. */
  Trend above(List<Trend> others) {
    double mean = others.stream().mapToDouble(Trend::perHour).average().orElse(0);
    double squares = others.stream().mapToDouble(each -> each.error() * each.error()).sum();
    int fewest = others.stream().mapToInt(Trend::samples).min().orElse(0);
    return new Trend(Math.min(samples, fewest), median, perHour - mean,
        Math.sqrt(error * error + squares / Math.max(1, others.size() * others.size())));
  }

  /** Undecided where there are few samples, or where they vary more than such a rise. */
  Verdict verdict() {
    if (samples < FEWEST) {
      return Verdict.UNDECIDED;
    }
    double limit = FLAT * Math.abs(median);
    if (perHour - ERRORS * error > limit) {
      return Verdict.GROWS;
    }
    return perHour + ERRORS * error <= limit ? Verdict.FLAT : Verdict.UNDECIDED;
  }

  /** Median, rise in an hour and its uncertainty, both as parts of the median where that is not 0. */
  String text() {
    double unit = median == 0 ? 1 : median / 100;
    return String.format(Locale.ROOT, "median %.0f, %+.2f ± %.2f%s an hour", median, perHour / unit,
        ERRORS * error / unit, median == 0 ? "" : " %");
  }
}
