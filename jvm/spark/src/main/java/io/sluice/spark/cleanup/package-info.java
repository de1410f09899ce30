/**
 * The end of shuffles: which map outputs a process has written, so that all of them are deleted when their shuffle is
 * removed.
 *
 * <pre>
 *   WrittenOutputs: map outputs by shuffle ─► deleted when Spark removes the shuffle
 *   TrackedWriter: a map task that ends after the removal of its shuffle deletes its own output
 * </pre>
 */
package io.sluice.spark.cleanup;
