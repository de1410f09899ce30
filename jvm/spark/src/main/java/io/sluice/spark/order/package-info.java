/**
 * The reduce side of an RDD's shuffle: combining records by key and sorting them by key. Spark's own classes do it, as
 * behind Spark's reader, except where records are only sorted: then they are sorted as rows, by an order that is known,
 * or by a guess that the job's comparator proves.
 *
 * <pre>
 *   rows ─► AggregateAndSort ─┬─ KeyOrders knows the order ─► RecordSorter ─► ResidentRows, sorted by ReferenceSort
 *                             ├─ OrderGuess has candidates ─► ProvenSorter ─► ResidentRows, SpilledRuns, MergedRuns
 *                             └─ else, or refuted ─► Spark's Aggregator and ExternalSorter
 * </pre>
 */
package io.sluice.spark.order;
