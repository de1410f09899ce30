package io.sluice.spark.policy;

/**
 * Plan nodes of libraries that make an exchange for themselves and read its blocks without the shuffle manager, in the
 * format of the dependency's serializer, which is Spark's. Such a node is recognised by its name on the stack of the
 * thread that registers the shuffle: the exchange has no reference to who made it.
 */
final class LibraryReaders {
  /** Delta Lake's optimized writes ({@code spark.databricks.delta.optimizeWrite.enabled}, since 3.1). */
  private static final String DELTA = "org.apache.spark.sql.delta.perf.DeltaOptimizedWriterExec";
  private static final String DELTA_INPUT = "childNumPartitions";
  private static final String EXCHANGE = "org.apache.spark.sql.execution.exchange.ShuffleExchangeExec";
  private static final String LAZY_DEPENDENCY = "shuffleDependency$lzycompute";

  private LibraryReaders() {}

  /** Whether the shuffle that this thread registers is one whose blocks a library reads. */
  static boolean registerNow() {
    int exchanges = 0;
    for (StackTraceElement frame : Thread.currentThread().getStackTrace()) {
      if (frame.getClassName().equals(DELTA)) {
        // Exchanges below the node's own are made while that one asks for its input, or while the node counts the
        // input's partitions, which it does before.
        return exchanges <= 1 && !frame.getMethodName().startsWith(DELTA_INPUT);
      }
      if (frame.getClassName().equals(EXCHANGE) && frame.getMethodName().equals(LAZY_DEPENDENCY)) {
        exchanges++;
      }
    }
    return false;
  }
}
