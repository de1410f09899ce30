package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Memory, cache and one-sided reads of one executor, as one of its tasks left them when it ended: gauges, and counters
 * since the executor started. Moves of map outputs from memory to the disk are {@code cache.moves} and
 * {@code cache.movedBytes}. A later event replaces an earlier one of the same executor.
 */
public final class ExecutorFigures extends SluiceEvent {
  /** So that an event has at most a kilobyte. */
  private static final int MOST_FIGURES = 22;

  private final String executorId;
  private final Map<String, Long> figures;

  @JsonCreator
  ExecutorFigures(@JsonProperty("version") int version, @JsonProperty("executorId") String executorId,
      @JsonProperty("figures") Map<String, Long> figures) {
    super(version);
    this.executorId = executorId;
    this.figures = figures == null ? Collections.emptyMap() : figures;
  }

  /** @param figures by the ids of their metrics, without zeros; of many, the first are kept */
  public static ExecutorFigures of(String executorId, Map<String, Long> figures) {
    Map<String, Long> kept = new LinkedHashMap<>();
    figures.forEach((id, value) -> {
      if (kept.size() < MOST_FIGURES) {
        kept.put(id, value);
      }
    });
    return new ExecutorFigures(VERSION, executorId, kept);
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
