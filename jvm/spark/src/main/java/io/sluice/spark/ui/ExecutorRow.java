package io.sluice.spark.ui;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.events.ExecutorFallbacks;
import io.sluice.spark.events.ExecutorLatencies;
import io.sluice.spark.events.ExecutorPeers;
import io.sluice.spark.events.ExecutorSelfTest;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.PeerLatency;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.spark.util.kvstore.KVIndex;

/** An executor in Spark's store, which may write it to disk as JSON. Immutable. */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class ExecutorRow {
  private static final String PINNED = "transport.pinnedBytes";

  @KVIndex private final String executorId;
  private final String host;
  private final boolean nativeCore;
  private final String detail;
  private final String javaVersion;
  private final boolean removed;
  private final Map<String, Long> figures;
  private final Map<String, Long> fallbacks;
  /** The most that a report had; the executor keeps no peak of it. */
  private final long mostPinnedBytes;
  private final LatencyCounts fetches;
  private final List<PeerLatency> slowestPeers;
  private final int announcedPeers;
  private final int connectedPeers;
  private final int failedPeers;
  private final List<String> failedPeerIds;

  @JsonCreator
  ExecutorRow(@JsonProperty("executorId") String executorId, @JsonProperty("host") String host,
      @JsonProperty("nativeCore") boolean nativeCore, @JsonProperty("detail") String detail,
      @JsonProperty("javaVersion") String javaVersion, @JsonProperty("removed") boolean removed,
      @JsonProperty("figures") Map<String, Long> figures, @JsonProperty("fallbacks") Map<String, Long> fallbacks,
      @JsonProperty("mostPinnedBytes") long mostPinnedBytes, @JsonProperty("fetches") LatencyCounts fetches,
      @JsonProperty("slowestPeers") List<PeerLatency> slowestPeers, @JsonProperty("announcedPeers") int announcedPeers,
      @JsonProperty("connectedPeers") int connectedPeers, @JsonProperty("failedPeers") int failedPeers,
      @JsonProperty("failedPeerIds") List<String> failedPeerIds) {
    this.executorId = executorId;
    this.host = host;
    this.nativeCore = nativeCore;
    this.detail = detail;
    this.javaVersion = javaVersion;
    this.removed = removed;
    this.figures = figures;
    this.fallbacks = fallbacks == null ? Collections.emptyMap() : fallbacks;
    this.mostPinnedBytes = mostPinnedBytes;
    this.fetches = fetches == null ? LatencyCounts.NONE : fetches;
    this.slowestPeers = slowestPeers == null ? Collections.emptyList() : slowestPeers;
    this.announcedPeers = announcedPeers;
    this.connectedPeers = connectedPeers;
    this.failedPeers = failedPeers;
    this.failedPeerIds = failedPeerIds == null ? Collections.emptyList() : failedPeerIds;
  }

  static ExecutorRow unknown(String executorId) {
    return new ExecutorRow(
        executorId, "", true, "", null, false, Collections.emptyMap(), null, 0, null, null, 0, 0, 0, null);
  }

  ExecutorRow tested(ExecutorSelfTest event) {
    return new ExecutorRow(executorId, event.host(), event.nativeCore(), event.detail(), event.javaVersion(), removed,
        figures, fallbacks, mostPinnedBytes, fetches, slowestPeers, announcedPeers, connectedPeers, failedPeers,
        failedPeerIds);
  }

  ExecutorRow with(Map<String, Long> newest) {
    Map<String, Long> known = known(newest);
    return new ExecutorRow(executorId, host, nativeCore, detail, javaVersion, removed, known, fallbacks,
        Math.max(mostPinnedBytes, known.getOrDefault(PINNED, 0L)), fetches, slowestPeers, announcedPeers,
        connectedPeers, failedPeers, failedPeerIds);
  }

  ExecutorRow with(ExecutorFallbacks event) {
    return new ExecutorRow(executorId, host, nativeCore, detail, javaVersion, removed, figures,
        known(event.figures()), mostPinnedBytes, fetches, slowestPeers, announcedPeers, connectedPeers, failedPeers,
        failedPeerIds);
  }

  private static Map<String, Long> known(Map<String, Long> newest) {
    Map<String, Long> known = new TreeMap<>(newest);
    known.values().removeIf(Objects::isNull);
    return known;
  }

  ExecutorRow with(ExecutorLatencies event) {
    return new ExecutorRow(executorId, host, nativeCore, detail, javaVersion, removed, figures, fallbacks,
        mostPinnedBytes, event.all(),
        event.slowest(), announcedPeers, connectedPeers, failedPeers, failedPeerIds);
  }

  ExecutorRow with(ExecutorPeers event) {
    return new ExecutorRow(executorId, host, nativeCore, detail, javaVersion, removed, figures, fallbacks,
        mostPinnedBytes, fetches, slowestPeers, event.announced(), event.connected(), event.failed(),
        event.failedPeers());
  }

  ExecutorRow gone() {
    return new ExecutorRow(executorId, host, nativeCore, detail, javaVersion, true, figures, fallbacks,
        mostPinnedBytes, fetches, slowestPeers, announcedPeers, connectedPeers, failedPeers, failedPeerIds);
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

  /** The version of its Java; null in logs of older versions. */
  String javaVersion() {
    return javaVersion;
  }

  /** By the ids of metrics: amounts, and what it did otherwise than its settings ask for. */
  Map<String, Long> figures() {
    return ShuffleRow.sum(figures, fallbacks);
  }

  /** By the id of a metric. */
  long figure(String id) {
    return figures.getOrDefault(id, fallbacks.getOrDefault(id, 0L));
  }

  long of(Counter counter) {
    return figure(counter.id());
  }

  /** The most bytes that peers may have been reading at the moment of a report. */
  long mostPinnedBytes() {
    return mostPinnedBytes;
  }

  /** How long the blocks took that it has fetched from other executors. */
  LatencyCounts fetches() {
    return fetches;
  }

  /** Those executors whose blocks took it longest, the slowest first. */
  List<PeerLatency> slowestPeers() {
    return slowestPeers;
  }

  /** Executors that announced themselves as readable one-sidedly; the connected and failed ones included. */
  int announcedPeers() {
    return announcedPeers;
  }

  int connectedPeers() {
    return connectedPeers;
  }

  int failedPeers() {
    return failedPeers;
  }

  /** Some of the failed ones. */
  List<String> failedPeerIds() {
    return failedPeerIds;
  }
}
