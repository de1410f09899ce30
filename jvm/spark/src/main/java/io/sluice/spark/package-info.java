/**
 * The classes that users name in settings and code: the shuffle manager, the plugin, the exception that both throw, the
 * interface by which an application's ordering lets Sluice sort by numbers, and the class that changes how much map
 * output is kept in memory. Everything else is in the packages below, in the order in which a row passes them:
 *
 * <pre>
 *   policy      is this shuffle Sluice's, and if not, why
 *   exchange    SQL rows of a map task → their partitions
 *   columnar    batches of columns of a map task → rows in pages, without Spark's rows
 *   write       rows of a map task → pages → encoded frames → Spark's files
 *   record      records of an RDD → rows, and back
 *   codec       rows → encoded frames, and back, in Java where the native library cannot be loaded
 *   store       where map output and spills are: memory files, Spark's local directories
 *   transport   one-sided reads from other executors
 *   fetch       blocks of map output → bytes of frames
 *   decode      bytes of frames → rows
 *   order       records → combined by key, sorted by key
 *   sql         rows of SQL's sorts → sorted; where Spark is told of Sluice's plan nodes
 *   read        puts fetch, decode and order together behind Spark's ShuffleReader
 *
 *   executor    one per process: thread pools, memory, transport, cache, GPU
 *   gpu         a GPU that encodes batches of map tasks
 *   memory      limits on block memory        conf    settings                      metrics  counters
 *   concurrent  pools of threads, idle cores  compat  differences between Spark lines
 *   events      what the event log says of an application
 *   ui          the tab of Spark's UI that shows it
 * </pre>
 *
 * Invariants: the driver alone decides a shuffle's format, once; whatever Sluice does not honour has a
 * {@link io.sluice.spark.policy.FallbackReason}; packages depend on each other in one direction
 * ({@code PackageLayersTest} has the order); nothing below this package reaches for {@code SparkEnv} to find Sluice's
 * own objects.
 */
package io.sluice.spark;
