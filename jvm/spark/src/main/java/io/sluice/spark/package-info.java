/**
 * The classes that users name in settings and code: the shuffle manager, the plugin, the exception that both throw, and
 * the interface by which an application's ordering lets Sluice sort by numbers. Everything else is in the packages
 * below, in the order in which a row passes them:
 *
 * <pre>
 *   policy    is this shuffle Sluice's, and if not, why
 *   write     rows of a map task → pages → encoded frames → Spark's files        record  an RDD's record as a row
 *   store     where map output and spills are: memory files, Spark's local directories
 *   fetch     blocks of map output → bytes of frames          transport  one-sided reads from other executors
 *   decode    bytes of frames → rows
 *   order     rows → combined by key, sorted by key
 *   sql       rows of Spark SQL's sorts; where Spark is told of Sluice's plan nodes
 *   read      puts fetch, decode and order together behind Spark's ShuffleReader
 *
 *   executor  one per process: thread pools, memory, transport, cache
 *   memory    limits on block memory        conf  settings        metrics  counters
 *   compat    differences between Spark lines
 * </pre>
 *
 * Invariants: the driver alone decides a shuffle's format, once; whatever Sluice does not honour has a
 * {@link io.sluice.spark.policy.FallbackReason}; no package imports one that is listed above it (a test checks it);
 * nothing below this package reaches for {@code SparkEnv} to find Sluice's own objects.
 */
package io.sluice.spark;
