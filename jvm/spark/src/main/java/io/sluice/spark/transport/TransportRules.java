package io.sluice.spark.transport;

import io.sluice.spark.conf.SluiceSettings;
import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.SparkConf;

/** Which applications may read blocks one-sidedly at all; decided by settings alone, so alike in all processes. */
public final class TransportRules {
  private static final String PLUGIN = "io.sluice.spark.SluicePlugin";
  private static final String UCX_TLS = "spark.executorEnv.UCX_TLS";

  private TransportRules() {}

  /** Why blocks of this application must travel by Spark's block transfer; completes "because …". */
  public static Optional<String> refusal(SparkConf conf) {
    if (!hasPlugin(conf)) {
      return Optional.of("spark.plugins does not name " + PLUGIN + ", by which executors find each other");
    }
    Optional<String> encryption = networkEncryption(conf);
    if (encryption.isPresent() && !conf.getBoolean("spark.io.encryption.enabled", false)) {
      return Optional.of(encryption.get() + " is true, and one-sided reads are not encrypted: set"
          + " spark.io.encryption.enabled=true to encrypt blocks before they travel");
    }
    if (conf.getBoolean("spark.authenticate", false) && mayUseTcp(conf.get(UCX_TLS, "all"))
        && !SluiceSettings.UCX_ALLOW_UNAUTHENTICATED_TCP.parse(
            conf.get(SluiceSettings.UCX_ALLOW_UNAUTHENTICATED_TCP.key(), "false"))) {
      return Optional.of("spark.authenticate is true, and UCX over TCP does not ask for a secret: whoever"
          + " reaches an executor's port reads and writes that process's memory. Set "
          + SluiceSettings.UCX_ALLOW_UNAUTHENTICATED_TCP.key() + "=true where only this application's hosts reach the"
          + " executors' ports, or keep UCX from TCP by " + UCX_TLS);
    }
    if (conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)) {
      return Optional.of("spark.shuffle.useOldFetchProtocol is true, so that attempts of a map task share one id");
    }
    if (conf.getBoolean("spark.shuffle.push.enabled", false)) {
      return Optional.of("spark.shuffle.push.enabled is true, and merged blocks can be read by Spark's reader only");
    }
    return Optional.empty();
  }

  /** Whether the application has Sluice's plugin. */
  public static boolean hasPlugin(SparkConf conf) {
    return Arrays.stream(conf.get("spark.plugins", "").split(",")).anyMatch(name -> name.trim().equals(PLUGIN));
  }

  /**
   * Why blocks in Spark's format must travel by Spark's block transfer where Sluice's frames may not; completes
   * "because …". I/O encryption of Spark's format hides bytes and authenticates none, which network encryption does.
   */
  public static Optional<String> refusalOfSparksFormat(SparkConf conf) {
    return networkEncryption(conf)
        .map(key -> key + " is true, and nothing authenticates blocks in Spark's format: use a"
            + " mode with spark.sluice.codec=sluice, with spark.io.encryption.enabled=true");
  }

  /**
   * Whether UCX may choose TCP with this {@code UCX_TLS}: a list of transports ({@code all} means every one), or
   * {@code ^} and those that are excluded. {@code tcp:aux} is TCP for connecting only, {@code \tcp} TCP and no alias.
   */
  private static boolean mayUseTcp(String transports) {
    String list = transports.trim();
    boolean excludes = list.startsWith("^");
    boolean named = Arrays.stream((excludes ? list.substring(1) : list).split(",")).map(String::trim)
        .map(name -> name.startsWith("\\") ? name.substring(1) : name).anyMatch(name -> name.equals("tcp")
            || !excludes && (name.equals("all") || name.isEmpty() || name.startsWith("tcp:")));
    return named != excludes;
  }

  /** The setting by which Spark encrypts its block transfer. */
  private static Optional<String> networkEncryption(SparkConf conf) {
    return Arrays.asList("spark.network.crypto.enabled", "spark.ssl.rpc.enabled",
        "spark.authenticate.enableSaslEncryption").stream()
        .filter(key -> conf.getBoolean(key, false)).findFirst();
  }
}
