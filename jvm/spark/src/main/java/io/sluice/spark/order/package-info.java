/**
 * Combining an RDD's records by key and sorting them by key. Map and reduce tasks combine in a hash table of their own;
 * reduce tasks sort records as rows, by an order that is known, or by a guess that the job's comparator proves.
 * Whatever these cannot take goes to Spark's own classes, which also spill.
 *
 * <pre>
 *   rows ─► AggregateAndSort ─┬─ keys are combined ─► RecordCombiner ─► Combiners ─┬─► CombinedInMemory
 *                             │                                                   └─► Spark's ExternalAppendOnlyMap
 *                             ├─ KeyOrders knows the order ─► RecordSorter ─► ResidentRows, sorted by ReferenceSort
 *                             ├─ OrderGuess has candidates ─► ProvenSorter ─► ResidentRows, SpilledRuns, MergedRuns
 *                             └─ else, or refuted ─► Spark's ExternalSorter
 *   a map task's records ─► RecordCombiner
 * </pre>
 */
package io.sluice.spark.order;
