package io.sluice.bench.run;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** A way to shuffle, by its name on the command line. */
public enum Engine {

  /** Spark's own sort shuffle. */
  STOCK("stock", Jar.NONE, Map.of()),

  /** Sluice as a user gets it: the jar and the two settings. */
  SLUICE("sluice", Jar.CURRENT, Map.of(
      "spark.plugins", "io.sluice.spark.SluicePlugin",
      "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager")),

  /** The same settings with another build of Sluice, so that two builds can be compared run by run. */
  SLUICE_OLD("sluice-old", Jar.OLD, Map.of(
      "spark.plugins", "io.sluice.spark.SluicePlugin",
      "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager")),

  /** Mode UCX: map output in memory while there is room, read one-sidedly. */
  SLUICE_UCX("sluice-ucx", Jar.CURRENT, mode("UCX")),

  /** Spark's own writers and formats, whose blocks are read one-sidedly. */
  SLUICE_RDMA("sluice-rdma", Jar.CURRENT, mode("RDMA")),

  /** Mode CACHE_ONLY: map output in memory while there is room, moved by Spark's block transfer. */
  SLUICE_CACHE("sluice-cache", Jar.CURRENT, mode("CACHE_ONLY")),

  /** Spark's own sort shuffle with its I/O encryption. */
  STOCK_ENCRYPTED("stock-encrypted", Jar.NONE, Map.of(Engine.ENCRYPTION, "true")),

  /** Sluice with sealed frames. */
  SLUICE_ENCRYPTED("sluice-encrypted", Jar.CURRENT, Map.of(
      "spark.plugins", "io.sluice.spark.SluicePlugin",
      "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager",
      Engine.ENCRYPTION, "true")),

  /** Spark's own sort shuffle compressed by Zstandard. */
  STOCK_ZSTD("stock-zstd", Jar.NONE, Map.of(Engine.CODEC, "zstd")),

  /** Sluice whose long columns are compressed by Zstandard, also those that shrink by little: its smallest frames. */
  SLUICE_ZSTD("sluice-zstd", Jar.CURRENT, Map.of(
      "spark.plugins", "io.sluice.spark.SluicePlugin",
      "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager",
      Engine.CODEC, "zstd",
      "spark.sluice.codec.level", "small")),

  /** Sluice without its tab and events: what it costs to be seen. */
  SLUICE_UNSEEN("sluice-unseen", Jar.CURRENT, Map.of(
      "spark.plugins", "io.sluice.spark.SluicePlugin",
      "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager",
      "spark.sluice.ui.enabled", "false")),

  /** DataFusion Comet with its own shuffle. */
  COMET("comet", Jar.NONE, comet(
      "org.apache.spark.CometPlugin", "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"), Peer.COMET),

  /** Comet's operators, with Comet's exchanges on Sluice's shuffle. */
  COMET_SLUICE("comet+sluice", Jar.CURRENT, comet(
      "io.sluice.spark.SluicePlugin,org.apache.spark.CometPlugin", "io.sluice.spark.SluiceShuffleManager"), Peer.COMET),

  /**
   * Apache Celeborn with a worker on this machine. Its defaults are for many workers: a client has 32 pushes in flight
   * to one, and looks every 50 ms whether there is room for more. Why these settings: docs/peers.md.
   */
  CELEBORN("celeborn", Jar.NONE, Map.of(
      "spark.shuffle.manager", "org.apache.spark.shuffle.celeborn.SparkShuffleManager",
      "spark.shuffle.service.enabled", "false",
      "spark.sql.adaptive.localShuffleReader.enabled", "false",
      "spark.celeborn.client.push.replicate.enabled", "false",
      "spark.celeborn.client.spark.shuffle.fallback.policy", "NEVER",
      "spark.celeborn.client.push.maxReqsInFlight.perWorker", "256",
      "spark.celeborn.client.push.maxReqsInFlight.total", "256",
      "spark.celeborn.client.push.limit.inFlight.sleepInterval", "1ms",
      "spark.celeborn.client.push.takeTaskWaitInterval", "1ms"), Peer.CELEBORN),

  /** Apache Uniffle with a server on this machine. A task waits for its data to arrive, 500 ms at a time by default. */
  UNIFFLE("uniffle", Jar.NONE, Map.of(
      "spark.shuffle.manager", "org.apache.spark.shuffle.RssShuffleManager",
      "spark.shuffle.service.enabled", "false",
      "spark.sql.adaptive.localShuffleReader.enabled", "false",
      "spark.rss.storage.type", "MEMORY_LOCALFILE",
      "spark.rss.client.type", "GRPC_NETTY",
      "spark.rss.client.send.check.interval.ms", "5",
      "spark.rss.client.read.buffer.size", "14m",
      "spark.rss.writer.buffer.spill.size", "256m"), Peer.UNIFFLE),

  /** NVIDIA's RAPIDS Accelerator, whose shuffle manager has a name for every version of Spark. */
  RAPIDS("rapids", Jar.NONE, Map.of(
      "spark.plugins", "com.nvidia.spark.SQLPlugin",
      // Two executors share the GPU.
      "spark.rapids.memory.gpu.allocFraction", "0.4",
      "spark.rapids.memory.gpu.minAllocFraction", "0.1"), Peer.RAPIDS),

  /** Apache Gluten with Velox and its own shuffle. */
  GLUTEN("gluten", Jar.NONE, Map.of(
      "spark.plugins", "org.apache.gluten.GlutenPlugin",
      "spark.shuffle.manager", "org.apache.spark.shuffle.sort.ColumnarShuffleManager"), Peer.GLUTEN),

  /** Spark's own shuffle with blocks that need no network, so with wrong results: what a network could give at most. */
  NO_NETWORK("no-network", Jar.NONE, Map.of(
      "spark.shuffle.manager", "io.sluice.bench.driver.NetworkBypass"));

  /** Which build of Sluice is on the class path. */
  public enum Jar { NONE, CURRENT, OLD }

  private static final String ENCRYPTION = "spark.io.encryption.enabled";
  private static final String CODEC = "spark.io.compression.codec";

  private final String label;
  private final Jar jar;
  private final Map<String, String> settings;
  private final Peer peer;

  Engine(String label, Jar jar, Map<String, String> settings) {
    this(label, jar, settings, null);
  }

  Engine(String label, Jar jar, Map<String, String> settings, Peer peer) {
    this.label = label;
    this.jar = jar;
    this.settings = settings;
    this.peer = peer;
  }

  private static Map<String, String> comet(String plugins, String manager) {
    return Map.of("spark.plugins", plugins, "spark.shuffle.manager", manager);
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

  /** Whether the engine called {@code label} is of another project, or beside one. */
  public static boolean isPeers(String label) {
    return Arrays.stream(values()).anyMatch(engine -> engine.label.equals(label) && engine.peer != null);
  }

  /** Which build of Sluice is on the class path. */
  public Jar jar() {
    return jar;
  }

  /** The project of others that the engine is, or is beside. */
  public Optional<Peer> peer() {
    return Optional.ofNullable(peer);
  }

  /** The Spark settings that choose this engine. */
  public Map<String, String> settings() {
    return settings;
  }

  /** Those of them that depend on the version of Spark. */
  Map<String, String> settingsOn(SparkHome home) {
    return this == RAPIDS ? Map.of("spark.shuffle.manager",
        "com.nvidia.spark.rapids.spark" + home.sparkVersion().replace(".", "") + ".RapidsShuffleManager") : Map.of();
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
