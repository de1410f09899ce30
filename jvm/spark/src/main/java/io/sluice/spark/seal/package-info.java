/**
 * Sealed frames, for {@code spark.io.encryption.enabled}: keys, and the Java side of sealing and opening. The native
 * core seals and opens the same bytes ({@code native/crates/codec/src/seal.rs}).
 *
 * <pre>
 *   Spark's I/O key ─► ApplicationKey ─► OutputKeys of one map output ─┬─► FrameSealer, EndMark     (map task)
 *                                                                      └─► SealedBlock, open       (reduce task)
 * </pre>
 *
 * <ul>
 *   <li>A key seals the frames of one map output; no nonce is used twice with it ({@link
 *       io.sluice.spark.seal.FrameSealer}).
 *   <li>A reader accepts a block only if it has exactly the frames that the map task wrote for the block's partitions,
 *       in their order ({@link io.sluice.spark.seal.SealedBlock}), and gives out a partition's rows when it has seen
 *       its end mark ({@link io.sluice.spark.seal.SealsAhead}).
 *   <li>Keys are in memory only; no message has one.
 * </ul>
 *
 * <p>{@code docs/decisions/0024-encryption-of-frames.md} has the reasons, {@code docs/block-format.md} the bytes.
 */
package io.sluice.spark.seal;
