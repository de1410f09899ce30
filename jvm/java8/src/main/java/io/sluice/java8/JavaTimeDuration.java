package io.sluice.java8;

import java.time.Duration;

/** For {@link Duration}. */
public final class JavaTimeDuration {
  private JavaTimeDuration() {}

  public static long toSeconds(Duration duration) {
    return duration.getSeconds();
  }
}
