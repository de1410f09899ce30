package io.sluice.bench.driver;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * What the task threads of one stage spent in Sluice's native code, from the event that Sluice posts of each stage. By
 * reflection, because the stock application runs without Sluice's jar.
 *
 * @param stageId Spark's number of the stage
 * @param encodeS seconds of CPU in which task threads encoded batches themselves, because no encoder thread was idle
 * @param decodeS the same for frames that they decoded
 * @param commitS the same for data files that they wrote
 */
record InTaskCpu(int stageId, double encodeS, double decodeS, double commitS) {

  private static final String EVENT = "io.sluice.spark.events.StageSummary";
  private static final double NANOS_PER_SECOND = 1e9;

  /** Of {@code event}, if it is one of those. */
  static Optional<InTaskCpu> of(SparkListenerEvent event) {
    if (!event.getClass().getName().equals(EVENT)) {
      return Optional.empty();
    }
    try {
      int stageId = (Integer) event.getClass().getMethod("stageId").invoke(event);
      Map<?, ?> figures = (Map<?, ?>) event.getClass().getMethod("figures").invoke(event);
      return Optional.of(new InTaskCpu(stageId, seconds(figures, "write.encodeByTaskCpuNanos"),
          seconds(figures, "read.decodeByTaskCpuNanos"), seconds(figures, "write.commitCpuNanos")));
    } catch (ReflectiveOperationException | ClassCastException e) {
      throw new IllegalStateException("Sluice's event " + EVENT + " cannot be read; the jar is not of this build", e);
    }
  }

  private static double seconds(Map<?, ?> figures, String counter) {
    Object nanos = figures.get(counter);
    return nanos == null ? 0 : ((Number) nanos).doubleValue() / NANOS_PER_SECOND;
  }

  InTaskCpu plus(InTaskCpu other) {
    return new InTaskCpu(stageId, encodeS + other.encodeS, decodeS + other.decodeS, commitS + other.commitS);
  }
}
