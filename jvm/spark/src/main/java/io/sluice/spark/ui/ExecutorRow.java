package io.sluice.spark.ui;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.events.ExecutorSelfTest;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.util.kvstore.KVIndex;

/** An executor in Spark's store, which may write it to disk as JSON. Immutable. */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class ExecutorRow {
  @KVIndex private final String executorId;
  private final String host;
  private final boolean nativeCore;
  private final String detail;
  private final boolean removed;
  private final Map<String, Long> figures;

  @JsonCreator
  ExecutorRow(@JsonProperty("executorId") String executorId, @JsonProperty("host") String host,
      @JsonProperty("nativeCore") boolean nativeCore, @JsonProperty("detail") String detail,
      @JsonProperty("removed") boolean removed, @JsonProperty("figures") Map<String, Long> figures) {
    this.executorId = executorId;
    this.host = host;
    this.nativeCore = nativeCore;
    this.detail = detail;
    this.removed = removed;
    this.figures = figures;
  }

  static ExecutorRow unknown(String executorId) {
    return new ExecutorRow(executorId, "", true, "", false, Collections.emptyMap());
  }

  ExecutorRow tested(ExecutorSelfTest event) {
    return new ExecutorRow(executorId, event.host(), event.nativeCore(), event.detail(), removed, figures);
  }

  ExecutorRow with(Map<String, Long> newest) {
    return new ExecutorRow(executorId, host, nativeCore, detail, removed, new TreeMap<>(newest));
  }

  ExecutorRow gone() {
    return new ExecutorRow(executorId, host, nativeCore, detail, true, figures);
  }

  public String executorId() {
    return executorId;
  }

  String host() {
    return host;
  }

  boolean nativeCore() {
    return nativeCore;
  }

  /** What the native library said, or why it is not used. */
  String detail() {
    return detail;
  }

  boolean removed() {
    return removed;
  }

  /** By the ids of metrics. */
  Map<String, Long> figures() {
    return figures;
  }

  /** By the id of a metric. */
  long figure(String id) {
    return figures.getOrDefault(id, 0L);
  }
}
