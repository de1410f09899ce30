package io.sluice.bench.soak;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Settings of applications, for stock and Sluice alike. */
final class Profile {

  private static final String MODE = "spark.sluice.mode";
  /** Profiles that a user can choose. */
  private static final Map<String, Map<String, String>> NAMED = Map.of(
      "default", Map.of(),
      "remote", Map.of("spark.shuffle.readHostLocalDisk", "false"),
      "ucx", Map.of(MODE, "UCX", "spark.shuffle.readHostLocalDisk", "false"),
      "rdma", Map.of(MODE, "RDMA", "spark.shuffle.readHostLocalDisk", "false"),
      "cache-only", Map.of(MODE, "CACHE_ONLY"),
      "encrypted", Map.of("spark.io.encryption.enabled", "true"),
      "little-memory", Map.of("spark.memory.fraction", "0.05", "spark.sluice.memory.limit", "64m"));

  private Profile() {}

  /** Names of profiles, in order. */
  static Set<String> names() {
    return new TreeSet<>(NAMED.keySet());
  }

  /**
   * The settings of the profile called {@code name}.
   *
   * @throws IllegalArgumentException naming the known ones if there is none
   */
  static Map<String, String> named(String name) {
    if (!NAMED.containsKey(name)) {
      throw new IllegalArgumentException("unknown profile '" + name + "'; known are " + String.join(", ", names()));
    }
    return NAMED.get(name);
  }

  /** Those that {@code dice} decide. */
  static Map<String, String> of(Dice dice) {
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("spark.serializer", dice.pick("org.apache.spark.serializer.JavaSerializer",
        "org.apache.spark.serializer.KryoSerializer"));
    settings.put("spark.io.compression.codec", dice.pick("lz4", "zstd", "snappy"));
    settings.put("spark.sluice.mode", dice.pick("MULTITHREADED", "MULTITHREADED", "UCX", "RDMA"));
    settings.put("spark.io.encryption.enabled", dice.pick("false", "false", "false", "true"));
    // A twentieth of the heap is little: sorts, aggregations and shuffles spill.
    settings.put("spark.memory.fraction", dice.pick("0.6", "0.05"));
    settings.put("spark.sluice.sql.exchange", dice.pick("true", "true", "true", "false"));
    settings.put("spark.shuffle.readHostLocalDisk", dice.pick("true", "false"));
    settings.put("spark.reducer.maxSizeInFlight", dice.pick("48m", "256k"));
    settings.put("spark.rdd.compress", dice.pick("false", "true"));
    return settings;
  }
}
