/**
 * Limits on the block memory that tasks hold.
 *
 * <pre>
 *   ExecutorMemory: one per process, sets the arena's limit
 *     └─ TaskMemory: one per task attempt ─→ Quota: MemoryBudget (executor-wide) or Spark's off-heap memory
 *          ├─ TaskAccount: open leases and reserved quota
 *          ├─ TaskSpiller: the task's writer, asked on its own thread only
 *          └─→ Lease: the memory itself, from the executor's Arena (the native core's, or JavaArena)
 * </pre>
 *
 * Invariants: no lease without quota; the arena's limit is the budget's; quota for what encoding needs (the run, and
 * memory to sort rows by partition) is taken with the page that the rows lie in; every wait has a timeout and sees a
 * killed task within 100 ms; nothing depends on which thread asks first; when a task has ended its account is empty,
 * and what had to be freed for that is counted as a leak.
 *
 * <p>Buffers on the Java heap are counted in Spark's execution memory ({@link io.sluice.spark.memory.HeapQuota}).
 */
package io.sluice.spark.memory;
