package io.sluice.spark.executor;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.ExecutorReport;
import io.sluice.spark.metrics.PeerReport;
import java.util.List;
import java.util.TreeMap;

/** Describes an executor as it is now, for the driver's events. */
public final class ExecutorReports {
  private static final List<ExecutorGauge> GAUGES = List.of(ExecutorGauge.MEMORY_LIMIT, ExecutorGauge.MEMORY_USED,
      ExecutorGauge.MEMORY_PEAK, ExecutorGauge.ARENA_LEASED, ExecutorGauge.ARENA_PEAK, ExecutorGauge.CACHE_USED,
      ExecutorGauge.MAPPED_BYTES, ExecutorGauge.PINNED_BYTES, ExecutorGauge.RECEIVED, ExecutorGauge.CONNECTIONS,
      ExecutorGauge.PEAK_MAPPED_BYTES);
  /** Of the executor, not of its tasks' shuffles. */
  private static final List<Counter> COUNTERS = List.of(Counter.MEMORY_WAITS, Counter.MEMORY_WAIT_NANOS,
      Counter.CACHE_BYTES, Counter.CACHE_MOVES, Counter.CACHE_MOVED_BYTES, Counter.CACHE_REFUSALS,
      Counter.TRANSPORT_BLOCKS, Counter.TRANSPORT_BYTES, Counter.TRANSPORT_CMA_BYTES, Counter.TRANSPORT_PUBLISHED,
      Counter.TRANSPORT_PEER_FAILURES);
  private static final int MOST_CHARACTERS = 200;
  private static final int MOST_SLOW_PEERS = 5;
  private static final int MOST_FAILED_PEERS = 10;

  private ExecutorReports() {}

  /** @param selfTest what the native library said when it was loaded, or why it is not used */
  public static ExecutorReport of(ExecutorState state, String executorId, String host, String selfTest) {
    TreeMap<String, Long> figures = new TreeMap<>();
    GAUGES.forEach(gauge -> put(figures, gauge.id(), gauge.of(state)));
    COUNTERS.forEach(counter -> put(figures, counter.id(), state.counters().get(counter)));
    String text = selfTest.length() <= MOST_CHARACTERS ? selfTest : selfTest.substring(0, MOST_CHARACTERS) + "…";
    return new ExecutorReport(executorId, host, state.nativeCore(), text, figures,
        state.fetchLatencies().report(MOST_SLOW_PEERS, ExecutorState.SLOW),
        state.transport().map(service -> service.peers(MOST_FAILED_PEERS)).orElse(PeerReport.NONE));
  }

  /** Leaves out zeros, and gauges that cannot be read, which are NaN. */
  private static void put(TreeMap<String, Long> figures, String id, Number value) {
    if (value.longValue() != 0) {
      figures.put(id, value.longValue());
    }
  }
}
