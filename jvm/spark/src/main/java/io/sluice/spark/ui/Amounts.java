package io.sluice.spark.ui;

import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Amounts as people read them; the units are those of Spark's pages. */
final class Amounts {
  private static final String[] BYTES = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  private static final double KIB = 1024;
  private static final double LARGE = 100;
  private static final long SECONDS_A_MINUTE = 60;
  private static final long MINUTES_AN_HOUR = 60;
  private static final int PERCENT = 100;

  private Amounts() {}

  static String bytes(long bytes) {
    double value = bytes;
    int unit = 0;
    while (value >= KIB && unit < BYTES.length - 1) {
      value /= KIB;
      unit++;
    }
    return unit == 0 ? bytes + " B"
        : String.format(Locale.ROOT, value >= LARGE ? "%.0f %s" : "%.1f %s", value, BYTES[unit]);
  }

  static String count(long count) {
    return String.format(Locale.ROOT, "%,d", count);
  }

  static String nanos(long nanos) {
    if (nanos < TimeUnit.SECONDS.toNanos(1)) {
      double millis = nanos / 1e6;
      return String.format(Locale.ROOT, nanos == 0 || millis >= 10 ? "%.0f ms" : "%.1f ms", millis);
    }
    long seconds = TimeUnit.NANOSECONDS.toSeconds(nanos);
    if (seconds < SECONDS_A_MINUTE) {
      return String.format(Locale.ROOT, "%.1f s", nanos / 1e9);
    }
    long minutes = seconds / SECONDS_A_MINUTE;
    return minutes < MINUTES_AN_HOUR
        ? minutes + " min " + seconds % SECONDS_A_MINUTE + " s"
        : minutes / MINUTES_AN_HOUR + " h " + minutes % MINUTES_AN_HOUR + " min";
  }

  /** {@code part} of {@code whole}; a dash if there is nothing of which it could be a part. */
  static String percent(long part, long whole) {
    return whole == 0 ? "–" : Math.round((double) PERCENT * part / whole) + " %";
  }
}
