package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** The settings that an application runs with; posted once, when the driver's plugin starts. */
public final class SettingsInForce extends SluiceEvent {
  /** Of the settings that the user set: of a value, and of all keys and values together. */
  private static final int MOST_VALUE_BYTES = 40;
  private static final int MOST_GIVEN_BYTES = 430;
  private static final int MOST_WORD_BYTES = 20;
  /** Quotes, colon and comma around a key and a value. */
  private static final int PUNCTUATION = 6;

  private final String sluiceVersion;
  private final boolean enabled;
  private final String mode;
  private final String codec;
  private final String store;
  private final String transport;
  private final long memoryLimitBytes;
  private final boolean offHeap;
  private final long cacheLimitBytes;
  private final Map<String, String> given;
  private final String sparkVersion;
  private final String javaVersion;

  @JsonCreator
  SettingsInForce(@JsonProperty("version") int version, @JsonProperty("sluiceVersion") String sluiceVersion,
      @JsonProperty("enabled") boolean enabled, @JsonProperty("mode") String mode, @JsonProperty("codec") String codec,
      @JsonProperty("store") String store, @JsonProperty("transport") String transport,
      @JsonProperty("memoryLimitBytes") long memoryLimitBytes, @JsonProperty("offHeap") boolean offHeap,
      @JsonProperty("cacheLimitBytes") long cacheLimitBytes, @JsonProperty("given") Map<String, String> given,
      @JsonProperty("sparkVersion") String sparkVersion, @JsonProperty("javaVersion") String javaVersion) {
    super(version);
    this.sluiceVersion = sluiceVersion;
    this.enabled = enabled;
    this.mode = mode;
    this.codec = codec;
    this.store = store;
    this.transport = transport;
    this.memoryLimitBytes = memoryLimitBytes;
    this.offHeap = offHeap;
    this.cacheLimitBytes = cacheLimitBytes;
    this.given = given == null ? Collections.emptyMap() : given;
    this.sparkVersion = sparkVersion;
    this.javaVersion = javaVersion;
  }

  /**
   * An event of this version of Sluice.
   *
   * @param axes codec, store and transport, in this order
   * @param memoryLimitBytes the driver's estimate of one executor's limit; an executor may find another one
   * @param given the settings of Sluice that the user set; of many the first by name are kept, and of a long value its
   *     beginning
   */
  public static SettingsInForce of(String sluiceVersion, boolean enabled, String mode, String[] axes,
      long memoryLimitBytes, boolean offHeap, long cacheLimitBytes, Map<String, String> given) {
    Map<String, String> kept = new TreeMap<>();
    int left = MOST_GIVEN_BYTES;
    for (Map.Entry<String, String> each : new TreeMap<>(given).entrySet()) {
      String value = Texts.atMost(MOST_VALUE_BYTES, each.getValue());
      left -= Texts.bytes(each.getKey()) + Texts.bytes(value) + PUNCTUATION;
      if (left >= 0) {
        kept.put(each.getKey(), value);
      }
    }
    return new SettingsInForce(VERSION, Texts.atMost(MOST_VALUE_BYTES, sluiceVersion), enabled, word(mode),
        word(axes[0]), word(axes[1]), word(axes[2]), memoryLimitBytes, offHeap, cacheLimitBytes, kept, null, null);
  }

  private static String word(String text) {
    return Texts.atMost(MOST_WORD_BYTES, text);
  }

  /** The same, with the driver's versions. */
  public SettingsInForce on(String spark, String java) {
    return new SettingsInForce(VERSION, sluiceVersion, enabled, mode, codec, store, transport, memoryLimitBytes,
        offHeap, cacheLimitBytes, given, Texts.atMost(MOST_VALUE_BYTES, spark), Texts.atMost(MOST_VALUE_BYTES, java));
  }

  /** The version of the driver's jar. */
  public String sluiceVersion() {
    return sluiceVersion;
  }

  /** The application's default of {@code spark.sluice.enabled}. */
  public boolean enabled() {
    return enabled;
  }

  /** {@code spark.sluice.mode}. */
  public String mode() {
    return mode;
  }

  /** {@code spark.sluice.codec}, or what the mode makes of it. */
  public String codec() {
    return codec;
  }

  /** {@code spark.sluice.store}, or what the mode makes of it. */
  public String store() {
    return store;
  }

  /** {@code spark.sluice.transport}, or what the mode makes of it. */
  public String transport() {
    return transport;
  }

  /** The driver's estimate of one executor's limit of block memory. */
  public long memoryLimitBytes() {
    return memoryLimitBytes;
  }

  /** Whether shuffles use Spark's off-heap memory instead of that limit. */
  public boolean offHeap() {
    return offHeap;
  }

  /** Of map outputs in memory; 0 where they are files. */
  public long cacheLimitBytes() {
    return cacheLimitBytes;
  }

  /** The settings of Sluice that the user set. */
  public Map<String, String> given() {
    return given;
  }

  /** The driver's; null in logs of older versions of Sluice. */
  public String sparkVersion() {
    return sparkVersion;
  }

  /** The driver's; null in logs of older versions of Sluice. */
  public String javaVersion() {
    return javaVersion;
  }
}
