package io.sluice.bench.soak;

/** One operation of an RDD program; {@link RecordRunner} says what exactly each does. */
enum RecordStep {
  /** {@code reduceByKey}, to sums. */
  REDUCE_BY_KEY,
  /** {@code groupByKey}; the values are sorted, because their order is not given. */
  GROUP_BY_KEY,
  /** {@code aggregateByKey}, to sets. */
  AGGREGATE_TO_SETS,
  /** {@code combineByKey}, to lists. */
  COMBINE_TO_LISTS,
  /** {@code sortByKey} in the order of the keys' class. */
  SORT_BY_KEY,
  /** {@code sortByKey} downwards by a comparator of the keys' texts. */
  SORT_BY_REVERSED_ORDER,
  /** {@code sortByKey} by a comparator of hashes of the keys and then of their texts. */
  SORT_BY_OPAQUE_ORDER,
  /** {@code repartition}, round robin. */
  REPARTITION,
  /** {@code partitionBy} with Spark's {@code HashPartitioner}. */
  PARTITION_BY_HASH,
  /** {@code partitionBy} with a partitioner of the program's own. */
  PARTITION_BY_OWN_PARTITIONER,
  /** {@code repartitionAndSortWithinPartitions}, both by the program's own. */
  SORT_WITHIN_PARTITIONS,
  /** {@code distinct} of pairs. */
  DISTINCT,
  /** {@code join} with one pair for each key. */
  JOIN,
  /** {@code leftOuterJoin} with one pair for some of the keys. */
  LEFT_OUTER_JOIN,
  /** {@code cogroup} with one pair for each key. */
  COGROUP,
  /** Other keys, made from the values; no shuffle of its own. */
  REKEY,
  /** The union of the pairs with themselves, which reads what was shuffled before twice. */
  TWICE,
  /** {@code persist} in memory and on disk. */
  CACHED
}
