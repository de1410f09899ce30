/**
 * The blocks of a reduce task, as bytes.
 *
 * <pre>
 *   MapOutputTracker ─► BlockPlan ─┬─ this host  ─► LocalBlocks  ─┐
 *                                  └─ all others ─► RemoteBlocks ─┴─► BlockInput (bytes of one block)
 *                                     (Spark's fetch iterator)
 * </pre>
 *
 * Invariants:
 * <ul>
 *   <li>Remote fetches are under way before the first local block is read.
 *   <li>A block that cannot be read becomes a {@code FetchFailedException}, made in {@link
 *       io.sluice.spark.fetch.FetchFailures} and nowhere else; an interrupt or a kill never does.
 * </ul>
 *
 * <p>Not here: push-merged blocks (such shuffles fall back).
 */
package io.sluice.spark.fetch;
