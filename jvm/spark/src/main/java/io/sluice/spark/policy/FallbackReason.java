package io.sluice.spark.policy;

import java.util.Locale;

/**
 * Why a shuffle is left to Spark's own sort shuffle. The plugin registers the number of such shuffles as a Spark metric
 * under the reason's {@link #metric}.
 */
public enum FallbackReason {
  CODEC_SPARK("spark.sluice.codec is spark"),
  RECORDS_DISABLED("it is not of SQL rows and spark.sluice.records.enabled is false"),
  NO_SQL_CLASSES("the classes of Spark SQL are not on the class path"),
  AGGREGATOR("it has an aggregator"),
  KEY_ORDERING("it has a key ordering"),
  DISABLED("spark.sluice.enabled is false"),
  ENCRYPTION("spark.io.encryption.enabled and spark.shuffle.useOldFetchProtocol are true: attempts of a map task would "
      + "share an id, and so a key"),
  PUSH_BASED("push-based shuffle is on"),
  CUSTOM_DATA_IO("spark.shuffle.sort.io.plugin.class is not Spark's default"),
  COMPRESSION_CODEC("spark.io.compression.codec is none of lz4, zstd, snappy"),
  CHECKSUM_ALGORITHM("spark.shuffle.checksum.algorithm is none of ADLER32, CRC32, CRC32C"),
  TOO_MANY_PARTITIONS("it has more than 16777216 partitions"),
  DATA_SIZE_METRIC("the row serializer's dataSize metric cannot be reached on this version of Spark"),
  READ_BY_LIBRARY("a library reads its blocks itself, in Spark's format: Delta Lake's optimized writes"),
  ROW_CHECKSUMS("its row-based checksums are of a kind that Sluice does not know");

  private final String text;

  FallbackReason(String text) {
    this.text = text;
  }

  /** Whether the user disabled Sluice by one of its settings, so that no warning is logged. */
  public boolean isWanted() {
    return this == CODEC_SPARK || this == RECORDS_DISABLED || this == DISABLED;
  }

  /** The name of the Spark metric that counts such shuffles: {@code shuffles.fallback.} and the reason's name. */
  public String metric() {
    StringBuilder name = new StringBuilder("shuffles.fallback.");
    for (String word : name().toLowerCase(Locale.ROOT).split("_")) {
      boolean first = name.charAt(name.length() - 1) == '.';
      name.append(first ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
    }
    return name.toString();
  }

  /** Completes the sentence "the shuffle falls back because …". */
  public String text() {
    return text;
  }
}
