package io.sluice.spark.memory;

/** Where a task's permission to hold memory comes from: the executor's {@link MemoryBudget}, or Spark. */
interface Quota {
  /**
   * Takes all of {@code bytes} or nothing, waiting at most about {@code nanos}; 0 does not wait here (Spark's
   * own memory manager may, until the task can have its fair share).
   */
  boolean take(long bytes, Claim claim, long nanos) throws InterruptedException;

  /** Gives back what was taken. Any thread. */
  void give(long bytes);

  /** Whether it is certain that no other task holds anything, so that waiting for others is of no use. */
  boolean isAlone();

  /** The most that could ever be granted. */
  long mostBytes();

  /** The setting that decides {@link #mostBytes}, for messages. */
  String limitSetting();
}
