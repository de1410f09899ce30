/**
 * The block format ({@code docs/block-format.md}) in Java, for executors that cannot load the native library: frames of
 * rows as they are are written, and frames of every encoding are read, because other executors may have written them.
 *
 * <pre>
 *   rows of a batch ──► RowsByPartition ──► PlainRun: frames, partition after partition
 *   a row too long for memory outside the heap ──► RowFile: one frame (with the native library too)
 *   frame ──► JavaFrameDecoder ──┬─ plain ─────────────────────────────────► rows
 *                                └─ ColumnarPayload: ColumnEncoding, VarData, Decompression ──► rows
 * </pre>
 *
 * Made to be right and easy to follow, not fast. What comes out of a frame is checked as in the native decoder: a
 * length or an offset is compared with what is there before it is used, and bytes that are not a frame are a {@link
 * io.sluice.nativebridge.CorruptFrameException}. Memory outside the heap is touched through {@link
 * io.sluice.spark.codec.MemoryRange} only, which checks bounds.
 *
 * <p>Not here: where the memory comes from, and files (packages {@code memory} and {@code write}).
 */
package io.sluice.spark.codec;
