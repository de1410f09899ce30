package io.sluice.spark.memory;

/** What a task wants memory for: decides which parts of {@link MemoryBudget} may serve the request. */
enum Claim {
  /** Data that the task keeps for long (rows being sorted): the shared part only, so it can never block a floor. */
  RESIDENT,
  /** Rows and runs of the task's writer, which can spill: the shared part and half of the task's floor. */
  WRITER,
  /** Fetched frames and decoded batches, which cannot be spilled: the shared part and the task's whole floor. */
  READER,
  /**
   * A request that has been refused as one of the others and now waits: as {@link #READER}, and when no other task
   * holds memory, whatever there is.
   */
  ALONE
}
