/**
 * Frames of fetched blocks in, rows out.
 *
 * <pre>
 *   BlockInput ─► FrameReader: headers (through a BlockBuffer); reads a frame to where it is decoded
 *                      ▼
 *   BatchSource: InlineDecoder (the consumer's thread) or ReadAheadDecoder (a pool): frames decoded to a DecodedBatch
 *                      ▼
 *   RowIterator: rows of a batch by a RowCursor; ReaderState decides which thread frees the batches,
 *                ReadErrors which exception the task gets
 * </pre>
 *
 * Invariants:
 * <ul>
 *   <li>All memory but the arrays of long rows is leased from the task's account and is given back when its rows have
 *       been consumed, or when the task ends, whatever ends it; nothing is freed while a decoder thread still writes to
 *       it.
 *   <li>Rows lie off-heap, but for long rows in plain frames, and are valid until the next {@code next()}. A consumer
 *       on a thread of its own ({@code pipe()}, a Python writer of Spark 3) gets on-heap rows, because it may still
 *       read rows when the task ends. If the consumer is fetching or decoding at that time, the memory leaves the
 *       task's account ({@link io.sluice.spark.decode.ReaderMemory}), and the consumer frees it when it is done.
 *   <li>No lock is held while a block is waited for, read or decoded.
 *   <li>While a frame is decoded its bytes are in memory once beside its rows; memory for a large row is not kept.
 *   <li>Nothing here is per record except {@link io.sluice.spark.decode.RowIterator#next}.
 * </ul>
 */
package io.sluice.spark.decode;
