package io.sluice.systemtests;

import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;

/** Sluice's counters: those of this process, or the sums over an application's executors. */
final class ProcessCounters {
  private static final int TASKS_PER_CORE = 8;

  private ProcessCounters() {}

  /** Of the driver; with a local master also of the executor. */
  static long here(Counter counter) {
    return ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).counters().get(counter);
  }

  /** Summed over the executors that take part in a small job made for asking. */
  static Map<Counter, Long> ofExecutors(JavaSparkContext context) {
    List<Integer> slots = new ArrayList<>();
    for (int i = 0; i < TASKS_PER_CORE * context.defaultParallelism(); i++) {
      slots.add(i);
    }
    Map<String, Map<Counter, Long>> byExecutor = new HashMap<>();
    context.parallelize(slots, slots.size()).map(slot -> Report.ofThisProcess()).collect()
        .forEach(report -> byExecutor.put(report.executorId(), report.counters()));
    Map<Counter, Long> sums = new EnumMap<>(Counter.class);
    byExecutor.values().forEach(one -> one.forEach((counter, value) -> sums.merge(counter, value, Long::sum)));
    return sums;
  }

  private record Report(String executorId, Map<Counter, Long> counters) implements java.io.Serializable {
    static Report ofThisProcess() {
      SluiceShuffleManager manager = (SluiceShuffleManager) SparkEnv.get().shuffleManager();
      return new Report(SparkEnv.get().executorId(), manager.counters().snapshot());
    }
  }
}
