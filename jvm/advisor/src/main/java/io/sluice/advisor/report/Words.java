package io.sluice.advisor.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Numbers and lines for people. */
final class Words {
  private static final String[] UNITS = {"B", "kB", "MB", "GB", "TB", "PB"};
  private static final double MINUTE = 60;
  private static final double HOUR = 3600;

  private Words() {}

  /** Three digits and a unit: {@code 12.3 MB}. */
  static String bytes(double bytes) {
    int unit = 0;
    double value = bytes;
    while (value >= 999.5 && unit < UNITS.length - 1) {
      value /= 1000;
      unit++;
    }
    return String.format(Locale.ROOT, unit == 0 || value >= 99.95 ? "%.0f %s" : "%.1f %s", value, UNITS[unit]);
  }

  /** {@code 0.4 s}, {@code 85 s}, {@code 12.3 min}, {@code 3.4 h}. */
  static String time(double seconds) {
    if (seconds < 2 * MINUTE) {
      return String.format(Locale.ROOT, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    }
    return seconds < 2 * HOUR ? String.format(Locale.ROOT, "%.1f min", seconds / MINUTE)
        : String.format(Locale.ROOT, "%.1f h", seconds / HOUR);
  }

  static String count(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  static String percent(double part) {
    return String.format(Locale.ROOT, "%.0f %%", 100 * part);
  }

  /** How many times as fast: {@code 1.42}. */
  static String times(double ratio) {
    return String.format(Locale.ROOT, "%.2f", ratio);
  }

  /** {@code text}, cut to {@code width} characters. */
  static String cut(String text, int width) {
    if (text.length() <= width) {
      return text;
    }
    int end = Character.isHighSurrogate(text.charAt(width - 2)) ? width - 2 : width - 1;
    return text.substring(0, end) + "…";
  }

  /** Lines of at most {@code width} characters, broken at spaces; a longer word is broken where the line ends. */
  static List<String> lines(String text, int width) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.trim().split(" +")) {
      String rest = word;
      while (rest.length() > width) {
        if (line.length() > 0) {
          lines.add(line.toString());
          line.setLength(0);
        }
        lines.add(rest.substring(0, width));
        rest = rest.substring(width);
      }
      if (line.length() > 0 && line.length() + 1 + rest.length() > width) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.length() > 0 && !rest.isEmpty() ? " " : "").append(rest);
    }
    if (line.length() > 0) {
      lines.add(line.toString());
    }
    return lines;
  }
}
