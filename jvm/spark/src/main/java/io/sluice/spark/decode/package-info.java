/**
 * Frames of fetched blocks in, rows out.
 *
 * <pre>
 *   BlockInput ─► FrameReader over a FrameBuffer: one whole frame in memory
 *                      ▼
 *   BatchSource: InlineDecoder (the task's thread) or ReadAheadDecoder (a pool): frames decoded to a DecodedBatch
 *                      ▼
 *   RowIterator: one reused UnsafeRow that points into the batch
 * </pre>
 *
 * Invariants:
 * <ul>
 *   <li>All memory is leased from the task's account and is given back when its rows have been consumed, or
 *       when the task ends, whatever ends it; nothing is freed while a decoder thread still writes to it.
 *   <li>Rows lie off-heap and are valid until the next {@code next()}. A consumer on a thread of its own (a
 *       Python writer of Spark 3) gets on-heap rows, because it may still be at work when the task ends.
 *   <li>Nothing here is per record except {@link io.sluice.spark.decode.RowIterator#next}.
 * </ul>
 */
package io.sluice.spark.decode;
