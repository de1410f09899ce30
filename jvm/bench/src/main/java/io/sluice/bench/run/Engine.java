package io.sluice.bench.run;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A way to shuffle, by its name on the command line. */
public enum Engine {

  /** Spark's own sort shuffle. */
  STOCK("stock", false, Map.of()),

  /** Sluice as a user gets it: the jar and the two settings. */
  SLUICE("sluice", true, Map.of(
      "spark.plugins", "io.sluice.spark.SluicePlugin",
      "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager")),

  /** Mode UCX: map output in memory while there is room, read one-sidedly. */
  SLUICE_UCX("sluice-ucx", true, mode("UCX")),

  /** Spark's own writers and formats, whose blocks are read one-sidedly. */
  SLUICE_RDMA("sluice-rdma", true, mode("RDMA")),

  /** Mode CACHE_ONLY: map output in memory while there is room, moved by Spark's block transfer. */
  SLUICE_CACHE("sluice-cache", true, mode("CACHE_ONLY")),

  /** Spark's own shuffle with blocks that need no network, so with wrong results: what a network could give at most. */
  NO_NETWORK("no-network", false, Map.of(
      "spark.shuffle.manager", "io.sluice.bench.driver.NetworkBypass"));

  private final String label;
  private final boolean usesJar;
  private final Map<String, String> settings;

  Engine(String label, boolean usesJar, Map<String, String> settings) {
    this.label = label;
    this.usesJar = usesJar;
    this.settings = settings;
  }

  private static Map<String, String> mode(String mode) {
    return Map.of(
        "spark.plugins", "io.sluice.spark.SluicePlugin",
        "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager",
        "spark.sluice.mode", mode);
  }

  /** The name on the command line and in reports. */
  public String label() {
    return label;
  }

  /** Whether the results of the engine called {@code label} must equal those of others. */
  public static boolean isFaithful(String label) {
    return !label.equals(NO_NETWORK.label);
  }

  /** Whether the Sluice jar is on the class path. */
  public boolean usesJar() {
    return usesJar;
  }

  /** The Spark settings that choose this engine. */
  public Map<String, String> settings() {
    return settings;
  }

  /**
   * The engine called {@code label}.
   *
   * @throws IllegalArgumentException naming the known engines if there is none
   */
  public static Engine find(String label) {
    return Arrays.stream(values()).filter(engine -> engine.label.equals(label)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown engine '" + label + "'; known are " + labels()));
  }

  /** Every engine's label. */
  public static List<String> labels() {
    return Arrays.stream(values()).map(Engine::label).collect(Collectors.toList());
  }
}
