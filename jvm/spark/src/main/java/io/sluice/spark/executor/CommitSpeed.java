package io.sluice.spark.executor;

/**
 * How long the last commits of this executor took to write a byte of a data file. A commit beside the encode of the
 * last batch sorts that batch four times; where the kernel keeps what is written, as it mostly does, this takes longer
 * than the writes that it hides ({@code bench/results/commit-beside.md}). Thread-safe.
 */
public final class CommitSpeed {
  /** Measured: what the sorts take for each byte of the file, and a half more. */
  private static final double SLOW_NANOS_PER_BYTE = 1.0;
  /** Smaller files say more of opening and renaming than of writing. */
  private static final long LEAST_BYTES = 1 << 20;
  /** Of the newest commit in the mean. */
  private static final double WEIGHT = 0.25;

  /** Negative until it is known. */
  private double nanosPerByte = -1;

  /**
   * Notes a commit of a data file.
   *
   * @param nanos that the task's thread has written, without encoding
   */
  public synchronized void wrote(long bytes, long nanos) {
    if (bytes >= LEAST_BYTES) {
      double now = (double) nanos / bytes;
      nanosPerByte = nanosPerByte < 0 ? now : nanosPerByte + WEIGHT * (now - nanosPerByte);
    }
  }

  /** Whether writes are so slow that it is worth encoding beside them; not before anything was written. */
  public synchronized boolean isSlow() {
    return nanosPerByte > SLOW_NANOS_PER_BYTE;
  }
}
