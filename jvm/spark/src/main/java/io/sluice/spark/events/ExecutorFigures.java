package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Collections;
import java.util.Map;

/**
 * Memory, cache and one-sided reads of one executor, as one of its tasks left them when it ended: gauges, and counters
 * since the executor started. Moves of map outputs from memory to the disk are {@code cache.moves} and
 * {@code cache.movedBytes}, those back {@code cache.returns} and {@code cache.returnedBytes}. A later event replaces an
 * earlier one of the same executor.
 */
public final class ExecutorFigures extends SluiceEvent {
  /** Of the figures, so that an event has at most a kilobyte. */
  private static final int MOST_BYTES = 905;

  private final String executorId;
  private final Map<String, Long> figures;

  @JsonCreator
  ExecutorFigures(@JsonProperty("version") int version, @JsonProperty("executorId") String executorId,
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
  public static ExecutorFigures of(String executorId, Map<String, Long> figures) {
    return new ExecutorFigures(VERSION, executorId, Figures.parts(figures, MOST_BYTES).get(0));
  }

  /** The number that Spark gives the executor. */
  public String executorId() {
    return executorId;
  }

  /** By the ids of their metrics ({@code docs/metrics.md}); those that are 0 are left out. */
  public Map<String, Long> figures() {
    return figures;
  }
}
