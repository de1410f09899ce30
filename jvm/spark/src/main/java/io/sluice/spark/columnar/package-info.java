/**
 * Batches of columns of an engine around the shuffle, taken below an exchange and given above it without making rows of
 * them.
 *
 * <pre>
 *   ColumnarBatch ─ BatchExport ─► Arrow's structs ─ NativeColumns ─► OpenBatch ─► pages of rows ─► the writer
 *                     │ VectorExport: Spark's vectors, by address or copied           (BatchPartitions)
 *                     └ CometVectors: Comet's
 *
 *   frames ─ FrameGroup ─► DecodedColumns (Arrow's structs) ─┬─► FrameBatches: FrameVector, HeapBatches
 *                                                            └─► Comet's vectors (comet.FramesToBatches)
 * </pre>
 *
 * Ranges go by Spark's own bounds, which the native core gets as rows ({@link io.sluice.spark.columnar.NativeRanges}).
 * What the native core cannot take goes row by row, made by Spark's own code ({@link
 * io.sluice.spark.columnar.BatchToRows}). The frames are the same bytes either way.
 */
package io.sluice.spark.columnar;
