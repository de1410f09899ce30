/**
 * What is done with the binary rows of Spark SQL outside of shuffles: sorting them.
 *
 * <pre>
 *   RowOrder: the order of rows, and 64-bit numbers that stand for parts of it
 *     ColumnOrder ── SortColumn: by columns;  BinaryOrder: by hash code and bytes
 *   BinaryRowSorter: rows ─► RowReferenceSort ─► sorted rows; SpilledRows, MergedRows when memory is short
 * </pre>
 */
package io.sluice.spark.sql;
