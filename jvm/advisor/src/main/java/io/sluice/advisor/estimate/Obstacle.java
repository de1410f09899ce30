package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * A setting with which Sluice would leave shuffles to Spark: those reasons of {@code FallbackReason} that a log shows.
 *
 * @param text the reason, a sentence
 * @param next what to do about it, a sentence
 */
public record Obstacle(String text, String next) {
  private static final String DEFAULT_DATA_IO = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";
  private static final Set<String> CODECS = Set.of("lz4", "zstd", "snappy");
  private static final Set<String> CHECKSUMS = Set.of("ADLER32", "CRC32", "CRC32C");

  /** All that {@code application} has; empty where Sluice would do its shuffles. */
  static List<Obstacle> of(Application application) {
    List<Obstacle> obstacles = new ArrayList<>();
    if (application.isSet("spark.io.encryption.enabled", false)
        && application.isSet("spark.shuffle.useOldFetchProtocol", false)) {
      obstacles.add(new Obstacle("spark.io.encryption.enabled and spark.shuffle.useOldFetchProtocol are true: Spark "
          + "keeps every shuffle.",
          "Remove spark.shuffle.useOldFetchProtocol, unless an old shuffle service needs it."));
    }
    if (application.isSet("spark.shuffle.push.enabled", false)
        && application.setting("spark.master", "").startsWith("yarn")
        && application.isSet("spark.shuffle.service.enabled", false)) {
      obstacles.add(new Obstacle("Push-based shuffle is on: Spark keeps every shuffle.",
          "Try spark.shuffle.push.enabled=false with Sluice."));
    }
    if (!application.setting("spark.shuffle.sort.io.plugin.class", DEFAULT_DATA_IO).equals(DEFAULT_DATA_IO)) {
      obstacles.add(new Obstacle("spark.shuffle.sort.io.plugin.class names a plugin of its own: Spark keeps every "
          + "shuffle.", "Remove that setting, if the plugin is not needed."));
    }
    String codec = codec(application);
    if (!CODECS.contains(codec)) {
      obstacles.add(new Obstacle("spark.io.compression.codec is " + codec + ": Spark keeps every shuffle.",
          "Set spark.io.compression.codec to lz4, zstd or snappy."));
    }
    String checksum = application.setting("spark.shuffle.checksum.algorithm", "ADLER32").toUpperCase(Locale.ROOT);
    if (application.isSet("spark.shuffle.checksum.enabled", true) && !CHECKSUMS.contains(checksum)) {
      obstacles.add(new Obstacle("spark.shuffle.checksum.algorithm is " + checksum + ": Spark keeps every shuffle.",
          "Set it to ADLER32, CRC32 or CRC32C."));
    }
    return List.copyOf(obstacles);
  }

  /** Spark's name of the codec, in short. */
  static String codec(Application application) {
    String codec = application.setting("spark.io.compression.codec", "lz4").toLowerCase(Locale.ROOT);
    if (!codec.startsWith("org.apache.spark.io.")) {
      return codec;
    }
    String name = codec.substring("org.apache.spark.io.".length());
    return name.endsWith("compressioncodec") ? name.substring(0, name.length() - "compressioncodec".length()) : name;
  }
}
