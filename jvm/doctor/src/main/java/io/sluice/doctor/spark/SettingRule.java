package io.sluice.doctor.spark;

import static io.sluice.doctor.check.Subject.SPARK_FRAMES;
import static io.sluice.doctor.check.Subject.SPARK_SETTINGS;
import static io.sluice.doctor.check.Subject.SPARK_TRANSFER;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.check.Verdict;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The consequence of a Spark setting for Sluice. The facts are those of {@code ShufflePolicy} and
 * {@code TransportRules} in {@code jvm/spark}.
 *
 * @param concerns the values that it is about
 * @param says completes "KEY=VALUE: "
 */
record SettingRule(Subject subject, String key, Predicate<String> concerns, Verdict verdict, String says, String next) {
  static final String MANAGER = "io.sluice.spark.SluiceShuffleManager";
  static final String PLUGIN = "io.sluice.spark.SluicePlugin";

  private static final String FILE_ENCRYPTION = "spark.io.encryption.enabled";
  private static final String AUTHENTICATE = "spark.authenticate";
  private static final String UNAUTHENTICATED_TCP = "spark.sluice.ucx.allowUnauthenticatedTcp";
  private static final String UCX_TLS = "spark.executorEnv.UCX_TLS";
  private static final String FALLS_BACK = "every shuffle is left to Spark's own writers and readers";
  private static final String SEALED_ONLY = "Blocks in Spark's format are authenticated by network encryption only; "
      + "for one-sided reads: spark.sluice.codec  sluice, with " + FILE_ENCRYPTION + "  true";
  private static final String NETTY = "blocks travel by Netty";

  private static final List<SettingRule> ALL = List.of(
      new SettingRule(SPARK_SETTINGS, "spark.shuffle.manager", value -> !value.equals(MANAGER), Verdict.WARNING,
          "Sluice is not used unless a command sets another", "spark.shuffle.manager  " + MANAGER),
      new SettingRule(SPARK_SETTINGS, "spark.shuffle.service.enabled", in("true"), Verdict.NOTE,
          "works; what the service serves travels by Netty, and every mode writes files at once", ""),
      frames("spark.sluice.enabled", in("false"), "Remove the line"),
      frames("spark.sluice.codec", in("spark"), "Remove the line, unless it is meant so"),
      frames("spark.shuffle.push.enabled", in("true"), "spark.shuffle.push.enabled  false"),
      frames("spark.shuffle.sort.io.plugin.class", value -> !value.endsWith(".LocalDiskShuffleDataIO"),
          "Remove the line"),
      frames("spark.io.compression.codec", in("lz4", "zstd", "snappy").negate(),
          "spark.io.compression.codec  lz4 (or zstd, snappy)"),
      transfer("spark.network.crypto.enabled"), transfer("spark.ssl.rpc.enabled"),
      new SettingRule(SPARK_TRANSFER, AUTHENTICATE, in("true"), Verdict.PROBLEM, NETTY, "One-sided reads over TCP need "
          + UNAUTHENTICATED_TCP + "  true, where only this application's hosts reach the executors' ports"),
      transfer("spark.authenticate.enableSaslEncryption"), transfer("spark.shuffle.push.enabled"),
      transfer("spark.shuffle.useOldFetchProtocol"));

  private static SettingRule frames(String key, Predicate<String> concerns, String next) {
    return new SettingRule(SPARK_FRAMES, key, concerns, Verdict.PROBLEM, FALLS_BACK, next);
  }

  private static SettingRule transfer(String key) {
    return new SettingRule(SPARK_TRANSFER, key, in("true"), Verdict.PROBLEM, NETTY, encryptsNetwork(key)
        ? "One-sided reads need false there, on a network that is trusted, or " + FILE_ENCRYPTION
            + "  true, which authenticates Sluice's frames before they travel"
        : "One-sided reads need  " + key + "  false");
  }

  private static boolean encryptsNetwork(String key) {
    return key.contains("crypto") || key.contains("ssl") || key.contains("Sasl");
  }

  private static Predicate<String> in(String... values) {
    return value -> Set.of(values).contains(value.toLowerCase(Locale.ROOT));
  }

  /** Whether every shuffle is in Spark's format; a codec that is set wins over the mode's. */
  private static boolean writesSparksFormat(Map<String, String> settings) {
    String codec = settings.get("spark.sluice.codec");
    return codec == null ? settings.getOrDefault("spark.sluice.mode", "").equalsIgnoreCase("RDMA")
        : codec.equalsIgnoreCase("spark");
  }

  /** Whether UCX cannot choose TCP with this {@code UCX_TLS}: as {@code TransportRules} reads it. */
  private static boolean avoidsTcp(String transports) {
    String list = transports.trim();
    boolean excludes = list.startsWith("^");
    boolean named = Arrays.stream((excludes ? list.substring(1) : list).split(",")).map(String::trim)
        .anyMatch(name -> name.equals("tcp") || !excludes && (name.equals("all") || name.isEmpty()));
    return named == excludes;
  }

  /** The findings of the rules for these settings. */
  static List<Finding> findings(Map<String, String> settings) {
    boolean framesAreSealed = settings.getOrDefault(FILE_ENCRYPTION, "").equalsIgnoreCase("true")
        && !writesSparksFormat(settings);
    boolean tcpIsFine = settings.getOrDefault(UNAUTHENTICATED_TCP, "").equalsIgnoreCase("true")
        || avoidsTcp(settings.getOrDefault(UCX_TLS, "all"));
    return ALL.stream().filter(rule -> settings.containsKey(rule.key) && rule.concerns.test(settings.get(rule.key)))
        .filter(rule -> !(framesAreSealed && rule.subject == SPARK_TRANSFER && encryptsNetwork(rule.key)))
        .filter(rule -> !(tcpIsFine && rule.key.equals(AUTHENTICATE)))
        .map(rule -> new Finding(rule.subject, rule.verdict, rule.key + "=" + settings.get(rule.key) + ": " + rule.says,
            encryptsNetwork(rule.key) && writesSparksFormat(settings) ? SEALED_ONLY : rule.next))
        .toList();
  }
}
