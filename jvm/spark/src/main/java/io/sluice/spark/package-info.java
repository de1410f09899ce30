/**
 * What Spark touches: the shuffle manager and the plugin that users name, and the decision which shuffles are
 * Sluice's.
 *
 * <pre>
 *   SluiceShuffleManager ── registerShuffle ──→ RecordPath ──→ SluiceShuffleHandle | one of Spark's handles
 *         │                                                            │
 *         └── ExecutorState (settings, memory, counters, pools) ──→ .write, .read
 * </pre>
 *
 * Invariants: the driver alone decides a shuffle's format, once; whatever Sluice does not honour has a
 * {@link io.sluice.spark.FallbackReason}; nothing below this package reaches for {@code SparkEnv} to find Sluice's
 * own objects. There is no code here that knows the block format.
 */
package io.sluice.spark;
