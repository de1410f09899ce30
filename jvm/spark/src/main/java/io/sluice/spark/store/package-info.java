/**
 * Map outputs that stay in memory ({@code spark.sluice.store=cache}).
 *
 * <p>An output is a memory file, and Spark's data file is a link to it, so that everything that reads map outputs,
 * Spark's own or ours, one-sidedly or not, finds it where it always is. When memory is short the oldest move to the
 * disk and become the plain files that they would have been ({@code docs/decisions/0009}).
 */
package io.sluice.spark.store;
