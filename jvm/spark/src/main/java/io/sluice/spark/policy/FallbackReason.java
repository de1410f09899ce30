package io.sluice.spark.policy;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/**
 * Why a shuffle is left to Spark's own sort shuffle, and what to do for Sluice to take it. The plugin registers the
 * number of such shuffles as a Spark metric under the reason's {@link #metric}.
 */
public enum FallbackReason {
  CODEC_SPARK("spark.sluice.codec is spark, which mode RDMA includes",
      "Remove spark.sluice.codec, and spark.sluice.mode=RDMA if it is set, if Sluice's format is wanted"),
  RECORDS_DISABLED("it is not of SQL rows and spark.sluice.records.enabled is false",
      "Set spark.sluice.records.enabled=true"),
  NO_SQL_CLASSES("the classes of Spark SQL are not on the class path",
      "Put the spark-sql and spark-catalyst jars of the same Spark on the class path of the driver and the executors"),
  AGGREGATOR("it has an aggregator",
      "There is nothing to do, unless a library made this shuffle of SQL rows: Spark's own exchanges have no "
          + "aggregator. Then tell the makers of Sluice which library it is"),
  KEY_ORDERING("it has a key ordering",
      "There is nothing to do, unless a library made this shuffle of SQL rows: Spark's own exchanges have no key "
          + "ordering. Then tell the makers of Sluice which library it is"),
  DISABLED("spark.sluice.enabled is false", "Set spark.sluice.enabled=true"),
  ENCRYPTION("spark.io.encryption.enabled and spark.shuffle.useOldFetchProtocol are true: attempts of a map task would "
      + "share an id, and so a key",
      "Remove spark.shuffle.useOldFetchProtocol, unless an external shuffle service older than Spark 3.0 needs it"),
  PUSH_BASED("push-based shuffle is on", "Set spark.shuffle.push.enabled=false to use Sluice instead"),
  CUSTOM_DATA_IO("spark.shuffle.sort.io.plugin.class is not Spark's default",
      "Remove spark.shuffle.sort.io.plugin.class, if the plugin that it names is not needed"),
  COMPRESSION_CODEC("spark.io.compression.codec is none of lz4, zstd, snappy",
      "Set spark.io.compression.codec to lz4, zstd or snappy"),
  CHECKSUM_ALGORITHM("spark.shuffle.checksum.algorithm is none of ADLER32, CRC32, CRC32C",
      "Set spark.shuffle.checksum.algorithm to ADLER32, CRC32 or CRC32C"),
  TOO_MANY_PARTITIONS("it has more than 16777216 partitions",
      "Ask for fewer partitions: spark.sql.shuffle.partitions, or the number given to repartition"),
  DATA_SIZE_METRIC("the row serializer's dataSize metric cannot be reached on this version of Spark",
      "Take the newest Sluice that names this version of Spark, and tell the makers of Sluice which Spark it is if "
          + "that does not help"),
  READ_BY_LIBRARY("a library reads its blocks itself, in Spark's format: Delta Lake's optimized writes",
      "There is nothing to do: Sluice does the other shuffles of the query. Without optimized writes "
          + "(spark.databricks.delta.optimizeWrite.enabled=false) there is no such shuffle, and more small files"),
  ROW_CHECKSUMS("its row-based checksums are of a kind that Sluice does not know",
      "Take the newest Sluice that names this version of Spark; where results are deterministic, "
          + "spark.sql.shuffle.orderIndependentChecksum.enabled=false does without these checksums");

  private final String text;
  private final String remedy;

  FallbackReason(String text, String remedy) {
    this.text = text;
    this.remedy = remedy;
  }

  /** The reason that an event names, which may be of another version of Sluice; empty for one that this has not. */
  public static Optional<FallbackReason> named(String name) {
    return Arrays.stream(values()).filter(reason -> reason.name().equals(name)).findFirst();
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

  /** What a user does for Sluice to take such shuffles: one or more sentences, the last without its full stop. */
  public String remedy() {
    return remedy;
  }
}
