/**
 * Who may hold how much block memory.
 *
 * <pre>
 *   writer, readers ──→ TaskMemory ──→ quota: MemoryBudget (executor-wide) or Spark's off-heap memory
 *                            └───────→ Lease: the memory itself, from the native arena
 * </pre>
 *
 * Invariants: no lease without quota; every wait has a timeout and sees a killed task within 100 ms; when a task has
 * ended its account is empty, and what had to be freed for that is counted as a leak. Memory of encodes that run is
 * accounted when they are done, out of the quota of their pages; the arena's own limit leaves room for it.
 */
package io.sluice.spark.memory;
