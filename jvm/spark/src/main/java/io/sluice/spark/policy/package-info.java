/**
 * Which shuffles are Sluice's and which are left to Spark's sort shuffle, and why. Decided on the driver when a shuffle
 * is registered; executors obey the handle.
 *
 * <pre>
 *   ShuffleDependency, settings ──► ShufflePolicy ──► SluiceShuffleHandle (with its RecordFormat)
 *                                         └─────────► FallbackReason: one of Spark's own handles
 *   settings ──► Capabilities: one-sided reads, map output in memory
 * </pre>
 */
package io.sluice.spark.policy;
