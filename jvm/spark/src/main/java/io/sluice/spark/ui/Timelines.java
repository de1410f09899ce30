package io.sluice.spark.ui;

import io.sluice.spark.events.StageTasks;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;

/**
 * Writes the tasks of stages that write or read shuffles to the store: each stage once a second while its tasks end,
 * and when it completes. The store keeps the newest stages that have so many tasks together. One thread.
 */
final class Timelines {
  /** Tasks in the store, of all stages: about 100 bytes each. */
  static final int RETAINED_TASKS = 25_000;
  /** Each stage counts as so many tasks more. */
  static final int TASKS_OF_A_STAGE = 12;
  private static final long DISTANCE_NANOS = TimeUnit.SECONDS.toNanos(1);
  /** Stages that are never completed must not fill the memory. */
  private static final int MOST_LIVE = 1_000;

  private final StatusStore store;
  private final LongSupplier clockNanos;
  private final Map<String, LiveStage> live = new HashMap<>();
  /** By stage, the oldest first: what it counts as. */
  private final Map<String, Integer> retained = new LinkedHashMap<>();
  private int retainedTasks;

  Timelines(StatusStore store, LongSupplier clockNanos) {
    this.store = store;
    this.clockNanos = clockNanos;
  }

  /**
   * A stage attempt begins.
   *
   * @param name as {@code stage.attempt}
   * @param writes the shuffle that it writes, or {@link StageTimeline#NONE}
   */
  void begin(String name, StageInfo stage, int writes) {
    if (live.size() < MOST_LIVE) {
      long submitted =
          stage.submissionTime().isDefined() ? (Long) stage.submissionTime().get() : System.currentTimeMillis();
      if (BusyTime.isTime(submitted)) {
        live.put(name, new LiveStage(name, writes, stage.numTasks(), submitted, clockNanos.getAsLong()));
      }
    }
  }

  /** A stage, of which that was not known before, writes a shuffle. */
  void writes(String name, int shuffleId) {
    LiveStage stage = live.get(name);
    if (stage != null) {
      stage.writes(shuffleId);
    }
  }

  void taskEnded(String name, SparkListenerTaskEnd end) {
    LiveStage stage = live.get(name);
    if (stage != null && end.taskInfo() != null) {
      stage.add(end);
      long now = clockNanos.getAsLong();
      if (now - stage.writtenNanos() >= DISTANCE_NANOS) {
        write(stage.row(false, now));
      }
    }
  }

  void complete(String name) {
    LiveStage stage = live.remove(name);
    if (stage != null) {
      write(stage.row(true, clockNanos.getAsLong()));
    }
  }

  /** The application has ended: stages that were not completed are written as far as they are known. */
  void end() {
    live.values().forEach(stage -> write(stage.row(false, clockNanos.getAsLong())));
    live.clear();
  }

  /** Adds what comes after a stage's completion. */
  void add(StageTasks event) {
    StageTimeline known = store.timeline(event.stageId() + "." + event.stageAttempt());
    if (known != null) {
      store.write(known.with(event));
    }
  }

  private void write(StageTimeline row) {
    store.write(row);
    int size = row.longest().size() + TASKS_OF_A_STAGE;
    Integer before = retained.put(row.stage(), size);
    retainedTasks += size - (before == null ? 0 : before);
    Iterator<Map.Entry<String, Integer>> oldest = retained.entrySet().iterator();
    while (retainedTasks > RETAINED_TASKS && retained.size() > 1) {
      Map.Entry<String, Integer> forgotten = oldest.next();
      store.delete(StageTimeline.class, forgotten.getKey());
      retainedTasks -= forgotten.getValue();
      oldest.remove();
    }
  }
}
