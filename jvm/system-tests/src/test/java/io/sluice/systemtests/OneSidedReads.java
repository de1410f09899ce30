package io.sluice.systemtests;

import io.sluice.spark.metrics.Counter;
import java.time.Duration;
import java.util.Map;

/** Whether an application's executors read each other one-sidedly. */
final class OneSidedReads {
  private static final Duration LIMIT = Duration.ofSeconds(180);

  private OneSidedReads() {}

  /**
   * Repeats {@code read}, a job that moves blocks between all executors, until at least two executors read, each reads
   * blocks one-sidedly, and none leaves any block to Spark's block transfer.
   */
  static void await(SparkApplication application, Runnable read) {
    Await.until(LIMIT,
        () -> "blocks are left to Spark's block transfer: " + ProcessCounters.byExecutor(application.context()),
        () -> {
          Map<String, Map<Counter, Long>> before = ProcessCounters.byExecutor(application.context());
          read.run();
          Map<String, Map<Counter, Long>> after = ProcessCounters.byExecutor(application.context());
          return before.size() >= 2 && before.keySet().equals(after.keySet())
              && after.entrySet().stream().allMatch(one -> allCameOneSidedly(before.get(one.getKey()), one.getValue()));
        });
  }

  private static boolean allCameOneSidedly(Map<Counter, Long> before, Map<Counter, Long> after) {
    return after.get(Counter.TRANSPORT_BLOCKS) > before.get(Counter.TRANSPORT_BLOCKS)
        && fetchedByNetty(after) == fetchedByNetty(before);
  }

  /** Blocks that were left to Spark's block transfer, for whatever reason. */
  static long fetchedByNetty(Map<Counter, Long> counters) {
    return counters.entrySet().stream()
        .filter(entry -> entry.getKey().name().startsWith("TRANSPORT_NETTY_"))
        .mapToLong(Map.Entry::getValue)
        .sum();
  }
}
