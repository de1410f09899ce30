/**
 * The blocks of a reduce task, as bytes.
 *
 * <pre>
 *   MapOutputTracker ─► BlockPlan ─┬─ this host  ─► LocalBlocks  ─┐
 *                                  └─ all others ─► RemoteBlocks ─┴─► BlockInput (bytes of one block)
 *                                                        ▲ Spark's fetch iterator
 *           Spark's client ─► ArrivalTrackingClient ─────┘    ArrivedBlocks counts the blocks in its queue
 * </pre>
 *
 * Invariants:
 * <ul>
 *   <li>Remote fetches are under way before the first local block is read.
 *   <li>The bytes of a block that was fetched to memory are copied once, from the buffer that received them to where
 *       they are decoded (not where {@code spark.shuffle.detectCorrupt.useExtraMemory} has Spark read them first).
 *   <li>A wait for a block notices within a tenth of a second that the task was killed or has ended, on any
 *       thread, unless Spark's iterator also opens files of this host or a fetch has failed: then Spark's
 *       iterator waits.
 *   <li>A block that cannot be read becomes a {@code FetchFailedException}, made in {@link
 *       io.sluice.spark.fetch.FetchFailures} and nowhere else; an interrupt or a kill never does.
 * </ul>
 *
 * <p>A reader of Spark's own format has Spark's fetch iterator for all blocks, which {@link
 * io.sluice.spark.fetch.CountedBlocks} counts.
 *
 * <p>Not here: push-merged blocks (such shuffles fall back).
 */
package io.sluice.spark.fetch;
