package io.sluice.spark.executor;

import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.ExecutorReport;
import io.sluice.spark.metrics.PeerReport;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Describes an executor as it is now, for the driver's events. */
public final class ExecutorReports {
  private static final List<ExecutorGauge> GAUGES = List.of(ExecutorGauge.MEMORY_LIMIT, ExecutorGauge.MEMORY_USED,
      ExecutorGauge.MEMORY_PEAK, ExecutorGauge.ARENA_LEASED, ExecutorGauge.ARENA_PEAK, ExecutorGauge.CACHE_USED,
      ExecutorGauge.MAPPED_BYTES, ExecutorGauge.PINNED_BYTES, ExecutorGauge.RECEIVED, ExecutorGauge.CONNECTIONS,
      ExecutorGauge.PEAK_MAPPED_BYTES);
  /** Of the executor, not of its tasks' shuffles. */
  private static final List<Counter> COUNTERS = List.of(Counter.MEMORY_WAITS, Counter.MEMORY_WAIT_NANOS,
      Counter.CACHE_BYTES, Counter.CACHE_MOVES, Counter.CACHE_MOVED_BYTES, Counter.CACHE_RETURNS,
      Counter.CACHE_RETURNED_BYTES, Counter.CACHE_REFUSALS,
      Counter.TRANSPORT_BLOCKS, Counter.TRANSPORT_BYTES, Counter.TRANSPORT_CMA_BYTES, Counter.TRANSPORT_PUBLISHED,
      Counter.TRANSPORT_PEER_FAILURES);
  /** What is done otherwise than the settings ask for. */
  private static final List<Counter> FALLBACKS = List.of(Counter.TRANSPORT_UNAVAILABLE,
      Counter.TRANSPORT_WITHOUT_RDMA, Counter.CACHE_UNAVAILABLE, Counter.GPU_UNAVAILABLE, Counter.GPU_LOST,
      Counter.TRANSPORT_PUBLISH_FAILURES, Counter.CACHE_MOVE_FAILURES, Counter.CACHE_RETURN_FAILURES,
      Counter.TRANSPORT_NETTY_UNKNOWN_PEER, Counter.TRANSPORT_NETTY_PEER_FAILED, Counter.TRANSPORT_NETTY_TIMEOUT,
      Counter.TRANSPORT_NETTY_NOT_FOUND, Counter.TRANSPORT_NETTY_PEER_BUSY, Counter.TRANSPORT_NETTY_NO_MEMORY,
      Counter.TRANSPORT_NETTY_TO_DISK, Counter.TRANSPORT_NETTY_OTHER);
  private static final int MOST_CHARACTERS = 200;
  private static final int MOST_SLOW_PEERS = 5;
  private static final int MOST_FAILED_PEERS = 10;

  private ExecutorReports() {}

  /** @param selfTest what the native library said when it was loaded, or why it is not used */
  public static ExecutorReport of(ExecutorState state, String executorId, String host, String selfTest) {
    // Also when no batch is encoded any more: the device may have been lost since the last one.
    state.gpu().ifPresent(ExecutorGpu::count);
    TreeMap<String, Long> figures = new TreeMap<>();
    GAUGES.forEach(gauge -> put(figures, gauge.id(), gauge.of(state)));
    COUNTERS.forEach(counter -> put(figures, counter.id(), state.counters().get(counter)));
    TreeMap<String, Long> fallbacks = new TreeMap<>();
    FALLBACKS.forEach(counter -> put(fallbacks, counter.id(), state.counters().get(counter)));
    String text = selfTest.length() <= MOST_CHARACTERS ? selfTest : selfTest.substring(0, MOST_CHARACTERS) + "…";
    return new ExecutorReport(executorId, host, state.nativeCore(), text, System.getProperty("java.version"), figures,
        fallbacks,
        state.fetchLatencies().report(MOST_SLOW_PEERS, ExecutorState.SLOW),
        state.transport().map(service -> service.peers(MOST_FAILED_PEERS)).orElse(PeerReport.NONE));
  }

  /** The ids of all figures that a report may have. */
  public static List<String> figureIds() {
    return Stream.concat(GAUGES.stream().map(ExecutorGauge::id), COUNTERS.stream().map(Counter::id))
        .collect(Collectors.toList());
  }

  /** The ids of all fallbacks that a report may have. */
  public static List<String> fallbackIds() {
    return FALLBACKS.stream().map(Counter::id).collect(Collectors.toList());
  }

  /** Leaves out zeros, and gauges that cannot be read, which are NaN. */
  private static void put(TreeMap<String, Long> figures, String id, Number value) {
    if (value.longValue() != 0) {
      figures.put(id, value.longValue());
    }
  }
}
