package io.sluice.spark.ui;

import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.LatencyCounts;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.util.kvstore.KVStore;

/**
 * What the REST interface says of an application, out of Spark's store of it: maps and lists, of which Spark's own
 * writer makes JSON. The fields are described in {@code docs/rest-api.yml}. Any thread.
 */
public final class StatusAnswers {
  private final StatusStore store;

  private StatusAnswers(StatusStore store) {
    this.store = store;
  }

  /** Empty if the store has nothing of Sluice. */
  public static Optional<StatusAnswers> of(KVStore store) {
    StatusStore rows = new StatusStore(store);
    return rows.hasApplication() ? Optional.of(new StatusAnswers(rows)) : Optional.empty();
  }

  /** Settings in force and totals, those of forgotten shuffles included. */
  public Map<String, Object> overview() {
    ApplicationRow row = store.application();
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("settings", row.settings());
    answer.put("shufflesByPath", row.shufflesByPath());
    answer.put("shufflesByReason", row.shufflesByReason());
    answer.put("totals", row.totals());
    answer.put("sortsLeft", row.sortsLeft());
    answer.put("exchangesLeft", row.exchangesLeft());
    return answer;
  }

  /**
   * The shuffles that the store remembers, by ascending number.
   *
   * @param offset how many are left out at the beginning
   * @param length how many there are at most
   */
  public List<Map<String, Object>> shuffles(int offset, int length) {
    return store.shuffles().stream().skip(Math.max(0, offset)).limit(Math.max(0, length)).map(StatusAnswers::shuffle)
        .collect(Collectors.toList());
  }

  /** Empty if the store does not know it. */
  public Optional<Map<String, Object>> shuffle(int shuffleId) {
    return Optional.ofNullable(store.shuffle(shuffleId)).map(StatusAnswers::shuffle);
  }

  private static Map<String, Object> shuffle(ShuffleRow row) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("shuffleId", row.shuffleId());
    answer.put("path", row.path());
    if (row.reason() != null) {
      answer.put("reason", row.reason());
      answer.put("reasonText", row.reasonText());
    }
    answer.put("maps", row.maps());
    answer.put("partitions", row.partitions());
    if (row.sqlExecution() >= 0) {
      answer.put("sqlExecution", row.sqlExecution());
    }
    answer.put("stages", row.stages());
    answer.put("figures", row.figures());
    if (!row.columns().isEmpty()) {
      answer.put("sampledFrames", row.sampledFrames());
      answer.put("columns", row.columns().stream().map(StatusAnswers::column).collect(Collectors.toList()));
    }
    return answer;
  }

  private static Map<String, Object> column(ColumnBytes column) {
    Map<String, Object> encoded = new LinkedHashMap<>();
    for (ColumnBytes.Encoding encoding : ColumnBytes.Encoding.values()) {
      if (column.encoded(encoding) > 0) {
        encoded.put(encoding.name(), column.encoded(encoding));
      }
    }
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("field", column.field());
    answer.put("rowBytes", column.rowBytes());
    answer.put("encodedBytes", encoded);
    return answer;
  }

  private static Map<String, Object> latencies(LatencyCounts counts) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("counts", counts.toArray());
    answer.put("totalNanos", counts.totalNanos());
    answer.put("longestNanos", counts.longestNanos());
    return answer;
  }

  private static Map<String, Object> peers(ExecutorRow row) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("announced", row.announcedPeers());
    answer.put("connected", row.connectedPeers());
    answer.put("failed", row.failedPeers());
    answer.put("failedIds", row.failedPeerIds());
    return answer;
  }

  private static List<Map<String, Object>> slowest(ExecutorRow row) {
    List<Map<String, Object>> answers = new ArrayList<>();
    row.slowestPeers().forEach(peer -> {
      Map<String, Object> answer = new LinkedHashMap<>();
      answer.put("executorId", peer.executorId());
      answer.put("fetches", latencies(peer.blocks()));
      answers.add(answer);
    });
    return answers;
  }

  public List<Map<String, Object>> executors() {
    List<Map<String, Object>> answers = new ArrayList<>();
    for (ExecutorRow row : store.executors()) {
      Map<String, Object> answer = new LinkedHashMap<>();
      answer.put("executorId", row.executorId());
      answer.put("host", row.host());
      answer.put("nativeCore", row.nativeCore());
      answer.put("detail", row.detail());
      if (row.javaVersion() != null) {
        answer.put("javaVersion", row.javaVersion());
      }
      answer.put("removed", row.removed());
      answer.put("figures", row.figures());
      answer.put("mostPinnedBytes", row.mostPinnedBytes());
      answer.put("fetches", latencies(row.fetches()));
      answer.put("slowestPeers", slowest(row));
      answer.put("peers", peers(row));
      answers.add(answer);
    }
    return answers;
  }

  /** What keeps Sluice from doing more, as sentences. */
  public List<String> diagnosis() {
    return new Diagnosis(store.application(), store.shuffles(), store.executors()).sentences();
  }
}
