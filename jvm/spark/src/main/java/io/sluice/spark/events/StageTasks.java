package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.metrics.TaskTimes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * How long the rows of some tasks of a stage attempt were encoded and decoded: of those that took longest. Spark's own
 * events tell when these tasks began and ended. A stage has as many of these events as its tasks need.
 */
public final class StageTasks extends SluiceEvent {
  /** So that an event has at most a kilobyte. */
  private static final int MOST_CHARACTERS = 820;

  private final int stageId;
  private final int stageAttempt;
  private final long[] tasks;
  private final long[] encodeMicros;
  private final long[] decodeMicros;

  @JsonCreator
  StageTasks(@JsonProperty("version") int version, @JsonProperty("stageId") int stageId,
      @JsonProperty("stageAttempt") int stageAttempt, @JsonProperty("tasks") long[] tasks,
      @JsonProperty("encodeMicros") long[] encodeMicros, @JsonProperty("decodeMicros") long[] decodeMicros) {
    super(version);
    this.stageId = stageId;
    this.stageAttempt = stageAttempt;
    this.tasks = tasks == null ? new long[0] : tasks;
    this.encodeMicros = encodeMicros == null ? new long[0] : encodeMicros;
    this.decodeMicros = decodeMicros == null ? new long[0] : decodeMicros;
  }

  /** Events for all of {@code times}, each with as many as fit it. */
  public static List<StageTasks> of(int stageId, int stageAttempt, List<TaskTimes> times) {
    List<StageTasks> events = new ArrayList<>();
    int from = 0;
    while (from < times.size()) {
      int to = from;
      int characters = 0;
      while (to < times.size() && characters <= MOST_CHARACTERS) {
        characters += characters(times.get(to));
        to++;
      }
      // The last one may be too much; an event has at least one.
      to = characters > MOST_CHARACTERS ? Math.max(from + 1, to - 1) : to;
      events.add(of(stageId, stageAttempt, times, from, to));
      from = to;
    }
    return events;
  }

  private static StageTasks of(int stageId, int stageAttempt, List<TaskTimes> times, int from, int to) {
    long[] tasks = new long[to - from];
    long[] encode = new long[to - from];
    long[] decode = new long[to - from];
    for (int i = from; i < to; i++) {
      tasks[i - from] = times.get(i).taskId();
      encode[i - from] = TimeUnit.NANOSECONDS.toMicros(times.get(i).encodeNanos());
      decode[i - from] = TimeUnit.NANOSECONDS.toMicros(times.get(i).decodeNanos());
    }
    return new StageTasks(VERSION, stageId, stageAttempt, tasks, encode, decode);
  }

  /** With commas. */
  private static int characters(TaskTimes times) {
    return Long.toString(times.taskId()).length()
        + Long.toString(TimeUnit.NANOSECONDS.toMicros(times.encodeNanos())).length()
        + Long.toString(TimeUnit.NANOSECONDS.toMicros(times.decodeNanos())).length() + 3;
  }

  /** The number of the stage. */
  public int stageId() {
    return stageId;
  }

  /** The attempt of the stage. */
  public int stageAttempt() {
    return stageAttempt;
  }

  /** Spark's numbers of the task attempts. */
  public long[] tasks() {
    return tasks.clone();
  }

  /** How long rows of each were encoded, over all threads. */
  public long[] encodeMicros() {
    return encodeMicros.clone();
  }

  /** How long rows of each were decoded, over all threads. */
  public long[] decodeMicros() {
    return decodeMicros.clone();
  }

  /** How many tasks it tells of. */
  public int size() {
    return Math.min(tasks.length, Math.min(encodeMicros.length, decodeMicros.length));
  }

  /** Spark's number of the {@code i}-th task attempt. */
  public long taskId(int i) {
    return tasks[i];
  }

  /** Over all threads. */
  public long encodeMicros(int i) {
    return encodeMicros[i];
  }

  /** Over all threads. */
  public long decodeMicros(int i) {
    return decodeMicros[i];
  }
}
