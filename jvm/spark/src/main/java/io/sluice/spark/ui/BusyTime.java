package io.sluice.spark.ui;

/**
 * How much time tasks took in each part of a stage's time. It has always as many parts: when the stage goes on beyond
 * the last one, parts are joined two and two. One thread.
 */
final class BusyTime {
  private static final int PARTS = 120;
  private static final long FIRST_STEP_MILLIS = 10;
  /** The end of the year 9999. Up to it, no arithmetic on times overflows. */
  private static final long LAST_MILLIS = 253_402_300_799_999L;

  private final long startMillis;
  private long stepMillis = FIRST_STEP_MILLIS;
  private final long[] busy = new long[PARTS];

  /** @param startMillis before any task; {@link #isTime} holds */
  BusyTime(long startMillis) {
    this.startMillis = startMillis;
  }

  /** Whether a clock can have shown that time, in ms since 1970; a damaged event log can have any number. */
  static boolean isTime(long millis) {
    return millis >= 0 && millis <= LAST_MILLIS;
  }

  /** A task ran from one moment to another. Ignored if one of them {@linkplain #isTime is no time}. */
  void add(long launchMillis, long finishMillis) {
    if (!isTime(launchMillis) || !isTime(finishMillis)) {
      return;
    }
    long from = Math.max(0, launchMillis - startMillis);
    long to = Math.max(from, finishMillis - startMillis);
    while (to > stepMillis * PARTS) {
      join();
    }
    for (long at = from; at < to;) {
      int part = (int) (at / stepMillis);
      long next = Math.min(to, (part + 1) * stepMillis);
      busy[part] += next - at;
      at = next;
    }
  }

  private void join() {
    for (int i = 0; i < PARTS; i++) {
      busy[i] = i < PARTS / 2 ? busy[2 * i] + busy[2 * i + 1] : 0;
    }
    stepMillis *= 2;
  }

  long startMillis() {
    return startMillis;
  }

  long stepMillis() {
    return stepMillis;
  }

  /** A copy. */
  long[] busyMillis() {
    return busy.clone();
  }
}
