package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * What the successful tasks of a stage attempt did for one shuffle, which they wrote or read. There may be several of
 * the same stage and shuffle, for tasks that end after the stage and for figures that are too many for one event; they
 * are to be added.
 */
public final class StageSummary extends SluiceEvent {
  /** Of the figures, so that an event has at most a kilobyte. */
  private static final int MOST_BYTES = 860;

  private final int shuffleId;
  private final int stageId;
  private final int stageAttempt;
  private final Map<String, Long> figures;

  @JsonCreator
  StageSummary(@JsonProperty("version") int version, @JsonProperty("shuffleId") int shuffleId,
      @JsonProperty("stageId") int stageId, @JsonProperty("stageAttempt") int stageAttempt,
      @JsonProperty("figures") Map<String, Long> figures) {
    super(version);
    this.shuffleId = shuffleId;
    this.stageId = stageId;
    this.stageAttempt = stageAttempt;
    this.figures = figures == null ? Collections.emptyMap() : figures;
  }

  /** @param figures counters by the ids of their metrics ({@code docs/metrics.md}); those that are 0 are left out */
  public static List<StageSummary> of(int shuffleId, int stageId, int stageAttempt, Map<String, Long> figures) {
    List<StageSummary> events = new ArrayList<>();
    for (Map<String, Long> part : Figures.parts(figures, MOST_BYTES)) {
      events.add(new StageSummary(VERSION, shuffleId, stageId, stageAttempt, part));
    }
    return events;
  }

  /** The number of the shuffle. */
  public int shuffleId() {
    return shuffleId;
  }

  /** The stage that wrote or read it. */
  public int stageId() {
    return stageId;
  }

  /** Which attempt of the stage, from 0. */
  public int stageAttempt() {
    return stageAttempt;
  }

  /** Counters by the ids of their metrics ({@code docs/metrics.md}); those that are 0 are left out. */
  public Map<String, Long> figures() {
    return figures;
  }
}
