package io.sluice.spark.ui;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.events.ShuffleColumns;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.ColumnSample;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.util.kvstore.KVIndex;

/** A shuffle in Spark's store, which may write it to disk as JSON. Immutable. */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class ShuffleRow {
  /** A shuffle of which only its stages are known: the log begins after it was registered. */
  static final String UNKNOWN = "UNKNOWN";
  /** A stage that is retried for ever must not fill the store. */
  private static final int MOST_STAGES = 20;

  @KVIndex private final int shuffleId;
  private final String path;
  private final String reason;
  private final String reasonText;
  private final int maps;
  private final int partitions;
  private final long sqlExecution;
  private final List<String> stages;
  private final Map<String, Long> figures;
  private final int sampledFrames;
  private final List<ColumnBytes> columns;

  @JsonCreator
  ShuffleRow(@JsonProperty("shuffleId") int shuffleId, @JsonProperty("path") String path,
      @JsonProperty("reason") String reason, @JsonProperty("reasonText") String reasonText,
      @JsonProperty("maps") int maps, @JsonProperty("partitions") int partitions,
      @JsonProperty("sqlExecution") long sqlExecution, @JsonProperty("stages") List<String> stages,
      @JsonProperty("figures") Map<String, Long> figures, @JsonProperty("sampledFrames") int sampledFrames,
      @JsonProperty("columns") List<ColumnBytes> columns) {
    this.shuffleId = shuffleId;
    this.path = path;
    this.reason = reason;
    this.reasonText = reasonText;
    this.maps = maps;
    this.partitions = partitions;
    this.sqlExecution = sqlExecution;
    this.stages = stages;
    this.figures = figures;
    this.sampledFrames = sampledFrames;
    this.columns = columns == null ? Collections.emptyList() : columns;
  }

  static ShuffleRow unknown(int shuffleId) {
    return new ShuffleRow(shuffleId, UNKNOWN, null, null, 0, 0, ShuffleRegistered.NO_EXECUTION, Collections.emptyList(),
        Collections.emptyMap(), 0, Collections.emptyList());
  }

  ShuffleRow registered(ShuffleRegistered event) {
    return new ShuffleRow(shuffleId, event.path() == null ? UNKNOWN : event.path(), event.reason(), event.reasonText(),
        maps, event.partitions(),
        event.sqlExecution(), stages, figures, sampledFrames, columns);
  }

  /** With the stage that writes it. */
  ShuffleRow writtenBy(String stage, int tasks, long execution) {
    return new ShuffleRow(shuffleId, path, reason, reasonText, Math.max(maps, tasks), partitions,
        sqlExecution == ShuffleRegistered.NO_EXECUTION ? execution : sqlExecution, withStage(stage), figures,
        sampledFrames, columns);
  }

  /** With more of what the tasks of a stage did. */
  ShuffleRow plus(String stage, Map<String, Long> more) {
    return new ShuffleRow(shuffleId, path, reason, reasonText, maps, partitions, sqlExecution, withStage(stage),
        sum(figures, more), sampledFrames, columns);
  }

  /** With a stage that reads it. */
  ShuffleRow readBy(String stage) {
    return plus(stage, Collections.emptyMap());
  }

  /** With how some more of its frames are encoded. */
  ShuffleRow plus(ShuffleColumns event) {
    return new ShuffleRow(shuffleId, path, reason, reasonText, maps, partitions, sqlExecution, stages, figures,
        sampledFrames + event.frames(), ColumnSample.sum(columns, event.columns(), ShuffleColumns.MOST_COLUMNS));
  }

  private List<String> withStage(String stage) {
    if (stages.contains(stage) || stages.size() >= MOST_STAGES) {
      return stages;
    }
    List<String> more = new ArrayList<>(stages);
    more.add(stage);
    return more;
  }

  static Map<String, Long> sum(Map<String, Long> figures, Map<String, Long> more) {
    Map<String, Long> sum = new TreeMap<>(figures);
    more.forEach((id, value) -> sum.merge(id, value, Long::sum));
    return sum;
  }

  public int shuffleId() {
    return shuffleId;
  }

  /** One of the constants of {@link ShuffleRegistered}, {@link #UNKNOWN}, or one of a later version. */
  String path() {
    return path;
  }

  /** The name of the reason for which it is in Spark's format; null otherwise. */
  String reason() {
    return reason;
  }

  String reasonText() {
    return reasonText;
  }

  int maps() {
    return maps;
  }

  int partitions() {
    return partitions;
  }

  long sqlExecution() {
    return sqlExecution;
  }

  /** Stages that wrote or read it, as {@code stage.attempt}. */
  List<String> stages() {
    return stages;
  }

  /** By the id of a counter. */
  Map<String, Long> figures() {
    return figures;
  }

  /** How many frames {@link #columns} is of. */
  int sampledFrames() {
    return sampledFrames;
  }

  /** How the fields of rows are encoded, in some of its frames. */
  List<ColumnBytes> columns() {
    return columns;
  }

  long of(Counter counter) {
    return figures.getOrDefault(counter.id(), 0L);
  }

  /** Whether it is in Spark's format. */
  boolean isWrittenBySpark() {
    return ShuffleRegistered.SPARK.equals(path) || ShuffleRegistered.SPARK_ONE_SIDED.equals(path);
  }
}
