package io.sluice.spark.ui;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;

/** When a task attempt ran, and what it did in that time. Part of {@link StageTimeline}. Immutable. */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class TaskSpan {
  private final long taskId;
  private final int index;
  private final String executorId;
  private final boolean failed;
  private final long launchMillis;
  private final long finishMillis;
  private final long waitMillis;
  private final long writeMillis;
  private final long encodeMicros;
  private final long decodeMicros;

  /**
   * @param index of the task in its stage
   * @param launchMillis on the driver's clock, as {@code finishMillis}
   * @param waitMillis for blocks of other executors
   * @param writeMillis writing the map output
   */
  @JsonCreator
  TaskSpan(@JsonProperty("taskId") long taskId, @JsonProperty("index") int index,
      @JsonProperty("executorId") String executorId, @JsonProperty("failed") boolean failed,
      @JsonProperty("launchMillis") long launchMillis, @JsonProperty("finishMillis") long finishMillis,
      @JsonProperty("waitMillis") long waitMillis, @JsonProperty("writeMillis") long writeMillis,
      @JsonProperty("encodeMicros") long encodeMicros, @JsonProperty("decodeMicros") long decodeMicros) {
    this.taskId = taskId;
    this.index = index;
    this.executorId = executorId;
    this.failed = failed;
    this.launchMillis = launchMillis;
    this.finishMillis = finishMillis;
    this.waitMillis = waitMillis;
    this.writeMillis = writeMillis;
    this.encodeMicros = encodeMicros;
    this.decodeMicros = decodeMicros;
  }

  TaskSpan with(long encode, long decode) {
    return new TaskSpan(taskId, index, executorId, failed, launchMillis, finishMillis, waitMillis, writeMillis, encode,
        decode);
  }

  long taskId() {
    return taskId;
  }

  int index() {
    return index;
  }

  String executorId() {
    return executorId;
  }

  boolean failed() {
    return failed;
  }

  long launchMillis() {
    return launchMillis;
  }

  long finishMillis() {
    return finishMillis;
  }

  long millis() {
    return Math.max(0, finishMillis - launchMillis);
  }

  /** For blocks of other executors. */
  long waitMillis() {
    return waitMillis;
  }

  /** Writing the map output. */
  long writeMillis() {
    return writeMillis;
  }

  /** Encoding rows, over all threads. */
  long encodeMicros() {
    return encodeMicros;
  }

  /** Decoding rows, over all threads. */
  long decodeMicros() {
    return decodeMicros;
  }
}
