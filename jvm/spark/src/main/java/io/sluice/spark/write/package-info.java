/**
 * One map task's rows on their way to Spark's shuffle files.
 *
 * <pre>
 *   records → PageWriter (copy) → PageBatch → BatchEncoder → MapOutput: Runs → MapOutputCommit: Spark's files
 *                                              │  or EncodeJob on an encoder thread
 *                └→ long rows: RowFile         └→ under pressure: SpillFiles
 * </pre>
 *
 * Invariants: pages carry the quota that encoding them needs, so a full batch can always be encoded; per record
 * nothing is allocated and no native method is called; pages are never freed while native code may read them (a task
 * that fails leaves them to the encoder thread); nothing exists on disk or off the heap before the first row, nor
 * after {@code stop}, except Spark's committed files. The order of a partition's rows in a map output is the order in
 * which they were written.
 *
 * <p>{@link io.sluice.spark.write.Runs} has two forms: the native core's, and Java's for executors without the library.
 */
package io.sluice.spark.write;
