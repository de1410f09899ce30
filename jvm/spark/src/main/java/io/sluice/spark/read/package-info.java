/**
 * The read path: the blocks of a reduce task in, SQL rows out.
 *
 * <pre>
 *   MapOutputTracker ─► BlockPlan ─┬─ this host  ─► LocalBlocks  ─┐
 *                                  └─ all others  ─► RemoteBlocks ─┤ BlockInput (bytes of one block)
 *                                     (Spark's fetch iterator)     ▼
 *                                              FrameReader over a FrameWindow: one whole frame in memory
 *                                                                  ▼
 *                               InlineBatches | ReadAheadBatches: frames decoded to a RowBatch
 *                                                                  ▼
 *                                            RowIterator: one reused UnsafeRow into the batch
 * </pre>
 *
 * Invariants:
 * <ul>
 *   <li>Remote fetches are under way before the first local block is read.
 *   <li>All memory is leased from the task's account and is given back when its rows have been consumed, or
 *       when the task ends, whatever ends it; nothing is freed while a decoder thread still writes to it.
 *   <li>Rows lie off-heap and are valid until the next {@code next()}. A consumer on a thread of its own (a
 *       Python writer of Spark 3) gets on-heap rows, because it may still be at work when the task ends.
 *   <li>A block that cannot be read becomes a {@code FetchFailedException}, made in {@link
 *       io.sluice.spark.read.FetchFailures} and nowhere else; an interrupt or a kill never does.
 *   <li>Nothing here is per record except {@link io.sluice.spark.read.RowIterator#next}.
 * </ul>
 *
 * <p>Shuffles of Spark's own writers are read by {@link io.sluice.spark.read.TransportedShuffleReader} where blocks travel
 * one-sidedly, and by Spark's reader elsewhere.
 *
 * <p>Not here: which shuffles are read this way ({@code SluiceShuffleManager}), push-merged blocks (such
 * shuffles fall back), sorting and aggregation (SQL row shuffles have neither).
 */
package io.sluice.spark.read;
