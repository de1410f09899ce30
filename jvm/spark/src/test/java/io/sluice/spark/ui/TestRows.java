package io.sluice.spark.ui;

import io.sluice.spark.events.ExecutorFallbacks;
import io.sluice.spark.events.ExecutorFigures;
import io.sluice.spark.events.ExecutorLatencies;
import io.sluice.spark.events.ExecutorSelfTest;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.events.StageSummary;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.PeerLatency;
import java.util.List;
import java.util.Map;
import org.apache.spark.util.kvstore.InMemoryStore;

/** A store filled by events. */
final class TestRows {
  final InMemoryStore kvStore = new InMemoryStore();
  final StatusStore store = new StatusStore(kvStore);
  final StatusListener listener;

  TestRows(int retainedShuffles) {
    listener = new StatusListener(kvStore, retainedShuffles);
  }

  void registered(int shuffleId) {
    listener.onOtherEvent(ShuffleRegistered.of(shuffleId, ShuffleRegistered.SQL_ROWS, null, null, 8, 3));
  }

  void fallback(int shuffleId, String reason, String text) {
    listener.onOtherEvent(ShuffleRegistered.of(shuffleId, ShuffleRegistered.SPARK, reason, text, 8, 3));
  }

  /** As in mode RDMA. */
  void oneSided(int shuffleId, String reason, String text) {
    listener.onOtherEvent(ShuffleRegistered.of(shuffleId, ShuffleRegistered.SPARK_ONE_SIDED, reason, text, 8, 3));
  }

  void fallbacks(String executorId, Map<String, Long> figures) {
    listener.onOtherEvent(ExecutorFallbacks.of(executorId, figures));
  }

  Diagnosis diagnosis() {
    return new Diagnosis(store.application(), store.shuffles(), store.executors());
  }

  void summary(int shuffleId, int stageId, Map<Counter, Long> figures) {
    Map<String, Long> byId = new java.util.TreeMap<>();
    figures.forEach((counter, value) -> byId.put(counter.id(), value));
    StageSummary.of(shuffleId, stageId, 0, byId).forEach(listener::onOtherEvent);
  }

  void executor(String id, String host, boolean nativeCore, String detail, Map<String, Long> figures) {
    listener.onOtherEvent(ExecutorSelfTest.of(id, host, nativeCore, detail).on("17.0.1"));
    listener.onOtherEvent(ExecutorFigures.of(id, figures));
  }

  /** An executor's latencies, and those of the blocks of its slowest peer. */
  void fetched(String id, LatencyCounts all, String peer, LatencyCounts ofPeer) {
    listener.onOtherEvent(ExecutorLatencies.of(id, all, List.of(new PeerLatency(peer, ofPeer))));
  }
}
