package io.sluice.systemtests;

import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.metrics.Counter;
import java.util.EnumMap;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;

/** Sluice's counters: those of this process, of each executor, or the sums over an application's executors. */
final class ProcessCounters {
  private ProcessCounters() {}

  /** Counters of the driver process; with a local master this is the executor too. */
  static long here(Counter counter) {
    return ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).counters().get(counter);
  }

  /** Counters of each executor, by its id. */
  static Map<String, Map<Counter, Long>> byExecutor(JavaSparkContext context) {
    return ExecutorSurvey.ask(context,
        () -> ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).counters().snapshot());
  }

  /** Sums over the executors. */
  static Map<Counter, Long> ofExecutors(JavaSparkContext context) {
    Map<Counter, Long> sums = new EnumMap<>(Counter.class);
    byExecutor(context).values().forEach(one -> one.forEach((counter, value) -> sums.merge(counter, value, Long::sum)));
    return sums;
  }
}
