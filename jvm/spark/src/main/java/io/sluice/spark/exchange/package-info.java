/**
 * The partitions of rows that SQL's exchanges shuffle, found without the pairs that Spark makes of partition and row.
 *
 * <pre>
 *   rows of the plan ─► ExchangeInput, an RDD ─► ExchangeRows ─(Spark maps them to pairs)─► PartitionedRows ─► writer
 *                         │ round robin: sorted first                                          │
 *                         └ as Spark sorts them                              PartitionFinder: HashFinder, RangeFinder,
 *                                                                    RoundRobinFinder, SingleFinder, ExpressionFinder
 * </pre>
 *
 * Spark's exchange is left as it is: it maps the rows to pairs of partition and row with a function of its own. The
 * iterator that it maps keeps that function beside the rows, so that a writer of Sluice can ask a {@link
 * io.sluice.spark.exchange.PartitionFinder} for the partition, and Spark's function only where that one does not know.
 * Whoever else iterates over the pairs gets those that Spark's function makes.
 */
package io.sluice.spark.exchange;
