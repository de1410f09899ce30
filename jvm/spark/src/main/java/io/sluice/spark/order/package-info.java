/**
 * The reduce side of an RDD's shuffle: combining records by key and sorting them by key. Spark's own classes do it, as
 * behind Spark's reader, except where records are only sorted and their order is known: then they are sorted as rows.
 *
 * <pre>
 *   rows ─► AggregateAndSort ─┬─ KeyOrders knows the order ─► RecordSorter ─► ResidentRows, sorted by ReferenceSort
 *                             └─ else ─► Spark's Aggregator and ExternalSorter
 * </pre>
 */
package io.sluice.spark.order;
