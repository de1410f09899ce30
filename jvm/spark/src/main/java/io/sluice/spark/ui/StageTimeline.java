package io.sluice.spark.ui;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.events.StageTasks;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.util.kvstore.KVIndex;

/**
 * The tasks of a stage attempt that writes or reads a shuffle, in Spark's store, which may write it to disk as JSON:
 * those that took longest one by one, and all of them as sums and as how many ran at a time. Immutable.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class StageTimeline {
  /** {@link #writes} of a stage that writes no shuffle. */
  static final int NONE = -1;

  @KVIndex private final String stage;
  private final int writes;
  private final int planned;
  private final int ended;
  private final int failed;
  private final boolean complete;
  private final long runMillis;
  private final long waitMillis;
  private final long writeMillis;
  private final long startMillis;
  private final long stepMillis;
  private final long[] busyMillis;
  private final List<TaskSpan> longest;

  @JsonCreator
  StageTimeline(@JsonProperty("stage") String stage, @JsonProperty("writes") int writes,
      @JsonProperty("planned") int planned, @JsonProperty("ended") int ended, @JsonProperty("failed") int failed,
      @JsonProperty("complete") boolean complete, @JsonProperty("runMillis") long runMillis,
      @JsonProperty("waitMillis") long waitMillis, @JsonProperty("writeMillis") long writeMillis,
      @JsonProperty("startMillis") long startMillis, @JsonProperty("stepMillis") long stepMillis,
      @JsonProperty("busyMillis") long[] busyMillis, @JsonProperty("longest") List<TaskSpan> longest) {
    this.stage = stage;
    this.writes = writes;
    this.planned = planned;
    this.ended = ended;
    this.failed = failed;
    this.complete = complete;
    this.runMillis = runMillis;
    this.waitMillis = waitMillis;
    this.writeMillis = writeMillis;
    this.startMillis = startMillis;
    this.stepMillis = stepMillis;
    this.busyMillis = busyMillis;
    this.longest = longest;
  }

  /** With how long rows of some of the tasks were encoded and decoded. */
  StageTimeline with(StageTasks event) {
    Map<Long, Integer> places = new HashMap<>();
    for (int i = 0; i < event.size(); i++) {
      places.put(event.taskId(i), i);
    }
    List<TaskSpan> spans = new ArrayList<>();
    for (TaskSpan span : longest) {
      Integer at = places.get(span.taskId());
      spans.add(at == null ? span : span.with(event.encodeMicros(at), event.decodeMicros(at)));
    }
    return new StageTimeline(stage, writes, planned, ended, failed, complete, runMillis, waitMillis, writeMillis,
        startMillis, stepMillis, busyMillis, spans);
  }

  /** As {@code stage.attempt}. */
  public String stage() {
    return stage;
  }

  /** The shuffle that it writes, or {@link #NONE}. */
  int writes() {
    return writes;
  }

  /** Tasks that it has when all have run. */
  int planned() {
    return planned;
  }

  /** Task attempts that have ended. */
  int ended() {
    return ended;
  }

  /** Of those, attempts that did not succeed. */
  int failed() {
    return failed;
  }

  boolean complete() {
    return complete;
  }

  /** Time of all ended tasks together. */
  long runMillis() {
    return runMillis;
  }

  /** Of that, waiting for blocks of other executors. */
  long waitMillis() {
    return waitMillis;
  }

  /** Of that, writing map outputs. */
  long writeMillis() {
    return writeMillis;
  }

  /** When the stage was submitted, on the driver's clock. */
  long startMillis() {
    return startMillis;
  }

  /** The length of one of the parts of {@link #busyMillis}. */
  long stepMillis() {
    return stepMillis;
  }

  /** Time of tasks that fell into each part of the time since {@link #startMillis}. */
  long[] busyMillis() {
    return busyMillis;
  }

  /** The tasks that took longest, by ascending number. */
  List<TaskSpan> longest() {
    return longest;
  }

  /** The end of the last task that has ended; the start if none has. */
  long endMillis() {
    long end = startMillis;
    for (TaskSpan span : longest) {
      end = Math.max(end, span.finishMillis());
    }
    for (int i = 0; i < busyMillis.length; i++) {
      if (busyMillis[i] > 0 && longest.size() < ended) {
        end = Math.max(end, startMillis + (i + 1) * stepMillis);
      }
    }
    return end;
  }
}
