package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Collections;
import java.util.Map;

/**
 * What one executor has done in another way than its settings ask for, since it started: blocks that were left to
 * Spark's block transfer, by reason, and features that it cannot use. Posted with ExecutorFigures, when it has changed.
 * A later event replaces an earlier one of the same executor.
 */
public final class ExecutorFallbacks extends SluiceEvent {
  /** Of the figures, so that an event has at most a kilobyte. */
  private static final int MOST_BYTES = 900;

  private final String executorId;
  private final Map<String, Long> figures;

  @JsonCreator
  ExecutorFallbacks(@JsonProperty("version") int version, @JsonProperty("executorId") String executorId,
      @JsonProperty("figures") Map<String, Long> figures) {
    super(version);
    this.executorId = executorId;
    this.figures = figures == null ? Collections.emptyMap() : figures;
  }

  /**
   * An event of this version of Sluice.
   *
   * @param figures by the ids of their metrics, without zeros; what an executor reports fits, and of more the first are
   *     kept
   */
  public static ExecutorFallbacks of(String executorId, Map<String, Long> figures) {
    return new ExecutorFallbacks(VERSION, executorId, Figures.parts(figures, MOST_BYTES).get(0));
  }

  /** The number that Spark gives the executor. */
  public String executorId() {
    return executorId;
  }

  /** Counters by the ids of their metrics ({@code docs/metrics.md}); those that are 0 are left out. */
  public Map<String, Long> figures() {
    return figures;
  }
}
