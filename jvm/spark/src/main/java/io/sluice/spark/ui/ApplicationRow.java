package io.sluice.spark.ui;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.events.PlanNodesLeft;
import io.sluice.spark.events.SettingsInForce;
import io.sluice.spark.metrics.Counter;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.util.kvstore.KVIndex;

/**
 * What the store has of the application as a whole: its settings, and totals that stay when shuffles are forgotten. The
 * store may write it to disk as JSON. Immutable.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class ApplicationRow {
  /** The only row's key. */
  static final String KEY = "application";
  /** A total: block bytes of the shuffles for which there is an estimate of Spark's. */
  static final String ESTIMATED_BLOCK_BYTES = "estimated.blockBytes";
  /** Totals of shuffles of Spark's own format. */
  static final String SPARK_BLOCK_BYTES = "spark.blockBytes";
  private static final int MOST_REASONS = 50;

  @KVIndex private final String key;
  private final Map<String, String> settings;
  private final Map<String, Long> shufflesByPath;
  private final Map<String, Long> shufflesByReason;
  private final Map<String, Long> totals;
  private final Map<String, Long> sortsLeft;
  private final Map<String, Long> exchangesLeft;

  @JsonCreator
  ApplicationRow(@JsonProperty("key") String key, @JsonProperty("settings") Map<String, String> settings,
      @JsonProperty("shufflesByPath") Map<String, Long> shufflesByPath,
      @JsonProperty("shufflesByReason") Map<String, Long> shufflesByReason,
      @JsonProperty("totals") Map<String, Long> totals, @JsonProperty("sortsLeft") Map<String, Long> sortsLeft,
      @JsonProperty("exchangesLeft") Map<String, Long> exchangesLeft) {
    this.key = key;
    this.settings = settings;
    this.shufflesByPath = shufflesByPath;
    this.shufflesByReason = shufflesByReason;
    this.totals = totals;
    this.sortsLeft = sortsLeft == null ? Collections.emptyMap() : sortsLeft;
    this.exchangesLeft = exchangesLeft == null ? Collections.emptyMap() : exchangesLeft;
  }

  static ApplicationRow empty() {
    return new ApplicationRow(KEY, Collections.emptyMap(), Collections.emptyMap(), Collections.emptyMap(),
        Collections.emptyMap(), null, null);
  }

  ApplicationRow with(SettingsInForce event) {
    Map<String, String> shown = new LinkedHashMap<>();
    shown.put("Version", event.sluiceVersion());
    if (event.sparkVersion() != null) {
      shown.put("Driver", "Spark " + event.sparkVersion() + ", Java " + event.javaVersion());
    }
    shown.put("Enabled", event.enabled() ? "yes" : "no, unless a session enables it");
    shown.put("Mode", event.mode());
    shown.put("Codec", event.codec());
    shown.put("Map outputs", "cache".equals(event.store())
        ? "in memory, up to " + Amounts.bytes(event.cacheLimitBytes()) + " an executor" : event.store());
    shown.put("Transport", event.transport());
    shown.put("Block memory", Amounts.bytes(event.memoryLimitBytes())
        + (event.offHeap() ? " of Spark's off-heap memory" : " an executor, as the driver computes it"));
    event.given().forEach(shown::put);
    return new ApplicationRow(key, shown, shufflesByPath, shufflesByReason, totals, sortsLeft, exchangesLeft);
  }

  ApplicationRow withShuffle(String path, String reasonText) {
    Map<String, Long> reasons = shufflesByReason;
    if (reasonText != null && (reasons.size() < MOST_REASONS || reasons.containsKey(reasonText))) {
      reasons = ShuffleRow.sum(reasons, Collections.singletonMap(reasonText, 1L));
    }
    return new ApplicationRow(
        key, settings, ShuffleRow.sum(shufflesByPath, Collections.singletonMap(path, 1L)), reasons, totals, sortsLeft,
        exchangesLeft);
  }

  ApplicationRow plus(Map<String, Long> figures) {
    return new ApplicationRow(key, settings, shufflesByPath, shufflesByReason, ShuffleRow.sum(totals, figures),
        sortsLeft, exchangesLeft);
  }

  ApplicationRow with(PlanNodesLeft event) {
    Map<String, Long> none = Collections.emptyMap();
    return new ApplicationRow(key, settings, shufflesByPath, shufflesByReason, totals,
        ShuffleRow.sum(none, event.sorts()), ShuffleRow.sum(none, event.exchanges()));
  }

  /** By name, in the order in which they are shown; empty if the application has not told them. */
  Map<String, String> settings() {
    return settings;
  }

  long shuffles(String path) {
    return shufflesByPath.getOrDefault(path, 0L);
  }

  /** By the constants of {@link io.sluice.spark.events.ShuffleRegistered}. */
  Map<String, Long> shufflesByPath() {
    return shufflesByPath;
  }

  /** Those in Spark's format, by the reason in words. */
  Map<String, Long> shufflesByReason() {
    return shufflesByReason;
  }

  /** Sorts in SQL plans that stay Spark's where the session wants Sluice's, by the reason in words. */
  Map<String, Long> sortsLeft() {
    return sortsLeft;
  }

  /** Exchanges whose partitions Spark's function finds where the session wants Sluice to, likewise. */
  Map<String, Long> exchangesLeft() {
    return exchangesLeft;
  }

  /** By the id of a counter, and the keys above. */
  Map<String, Long> totals() {
    return totals;
  }

  long total(Counter counter) {
    return total(counter.id());
  }

  long total(String id) {
    return totals.getOrDefault(id, 0L);
  }
}
