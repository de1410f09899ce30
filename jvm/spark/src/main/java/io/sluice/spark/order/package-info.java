/**
 * Combining an RDD's records by key and sorting them by key. Map and reduce tasks combine in a hash table of their own;
 * reduce tasks sort records as rows, by an order that is known, or by a guess that the job's comparator proves. An order
 * is one of whole keys ({@link io.sluice.spark.order.KeyOrder}), mostly by their parts one after another ({@link
 * io.sluice.spark.order.OrderByParts}), each by an order of its own ({@link io.sluice.spark.order.PartOrder}).
 * Whatever these cannot take goes to Spark's own classes, which also spill.
 *
 * <pre>
 *   rows ─► AggregateAndSort ─┬─ keys are combined ─► RecordCombiner ─► Combiners ─┬─► CombinedInMemory
 *                             │                                                   └─► Spark's ExternalAppendOnlyMap
 *                             ├─ KeyOrders knows the order ─► RecordSorter ─► ResidentRows, sorted by ReferenceSort
 *                             ├─ OrderGuess has candidates ─► ProvenSorter ─► ResidentRows, SpilledRuns, MergedRuns
 *                             └─ else, or refuted ─► Spark's ExternalSorter
 *   a map task's records ─┬─► RecordCombiner
 *                         └─► RangeSearch finds the partition of a range partitioner
 * </pre>
 */
package io.sluice.spark.order;
