package io.sluice.advisor.estimate;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The line of a version of Spark; 0.0 if the log does not say. */
record SparkVersion(int major, int minor) {
  private static final Pattern LINE = Pattern.compile("(\\d{1,3})\\.(\\d{1,3})(\\D.*)?");

  static SparkVersion of(String text) {
    Matcher matcher = LINE.matcher(text);
    return matcher.matches() ? new SparkVersion(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)))
        : new SparkVersion(0, 0);
  }

  boolean isKnown() {
    return major > 0;
  }

  boolean isAtLeast(int otherMajor, int otherMinor) {
    return major > otherMajor || major == otherMajor && minor >= otherMinor;
  }

  /** Whether Sluice runs on it: 3.3 to 4.2. */
  boolean isSupported() {
    return isAtLeast(3, 3) && !isAtLeast(4, 3);
  }
}
