/**
 * Map outputs that stay in memory ({@code spark.sluice.store=cache}).
 *
 * <p>An output is a memory file, and Spark's data file is a link to it, so that Spark's and
 * Sluice's readers, one-sided reads included, open it under its usual path. When memory is short, outputs are moved to
 * the disk, under the same path: those that are least likely to be read soon, or cheapest to move. Outputs that are
 * read again and again come back when there is room ({@code docs/decisions/0009}).
 *
 * <pre>
 *   MapOutputCommit ─► OutputCache (I/O) ─► CachedOutputs (limits, states, one lock) ─► CachedOutput, OutputState
 *                          │            └─► CachedShuffle ─► ReadHistory, MoveOrder (what moves, what returns)
 *                          ├─► MemoryFiles (creates), MoveListener (is told of moves)
 *                          └─► OutputDisk: SparkLocalDirs ─► SpillFiles ◄─ spills of map tasks
 * </pre>
 */
package io.sluice.spark.store;
