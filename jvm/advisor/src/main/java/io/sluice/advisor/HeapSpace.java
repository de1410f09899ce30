package io.sluice.advisor;

import java.util.Locale;

/** What is said when Java's heap is too small for a log or a report. */
public final class HeapSpace {
  private static final double MEGA = 1e6;

  private HeapSpace() {}

  /** The end of a sentence: what is too small, and what to do. */
  public static String tooSmall(String command) {
    double heap = Runtime.getRuntime().maxMemory() / MEGA;
    return String.format(Locale.ROOT, "Java's heap of %.0f MB is too small for it. Give it more, for example: "
        + "java -Xmx4g -jar JAR %s LOG…; or name fewer logs at once.", heap, command);
  }
}
