package io.sluice.spark.memory;

/** Where a task's permission to hold memory comes from: the executor's {@link MemoryBudget}, or Spark. */
interface Quota {
  /**
   * Takes all of {@code bytes} or nothing, waiting at most about {@code nanos}; 0 does not wait here (Spark's
   * own memory manager may, until the task can have its fair share). Called on the task's thread only.
   *
   * @param heldByTask what the task holds already
   */
  boolean take(long bytes, long heldByTask, long nanos) throws InterruptedException;

  /** Gives back what was taken. Any thread. */
  void give(long bytes);

  /** The most that could ever be granted. */
  long limitBytes();

  /** The setting that decides {@link #limitBytes}, for messages. */
  String limitSetting();
}
