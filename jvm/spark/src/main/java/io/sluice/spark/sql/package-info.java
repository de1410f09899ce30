/**
 * What is done with the binary rows of Spark SQL outside of shuffles: sorting them.
 *
 * <pre>
 *   RowOrder ── SortColumn: the order of rows, and 64-bit numbers that stand for parts of it
 *   BinaryRowSorter: rows ─► ReferenceSort ─► sorted rows; SpilledRows, MergedRows when memory is short
 * </pre>
 */
package io.sluice.spark.sql;
