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
   * A request that was refused under another claim and now waits: it may take what {@link #READER} may, and all memory
   * of the budget when no other task holds any.
   */
  ALONE
}
