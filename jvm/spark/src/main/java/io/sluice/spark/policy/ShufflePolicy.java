package io.sluice.spark.policy;

import io.sluice.spark.compat.RowBasedChecksums;
import io.sluice.spark.compat.RowSerializer;
import io.sluice.spark.conf.Codec;
import io.sluice.spark.conf.Settings;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.util.Utils;

/**
 * Decides on the driver, once per shuffle when it is registered, whether Sluice or Spark's own sort shuffle writes and
 * reads it. A shuffle that asks for something which Sluice does not honour goes to Spark, with a
 * {@link FallbackReason}.
 *
 * <p>Immutable; any thread.
 */
public final class ShufflePolicy {
  /** Records of RDDs are made into Spark SQL's rows; an application may have only Spark's core on its class path. */
  private static final boolean SQL_CLASSES = sqlClasses();
  private static final int MAX_PARTITIONS = 1 << 24;
  private static final String DATA_IO = "spark.shuffle.sort.io.plugin.class";
  private static final String DEFAULT_DATA_IO = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";

  private final Settings settings;
  private final Optional<FallbackReason> forEveryShuffle;

  /** Evaluates once the conditions that are equal for every shuffle of the application. */
  public ShufflePolicy(SparkConf conf, Settings settings) {
    this.settings = settings;
    this.forEveryShuffle = applicationReason(conf, settings);
  }

  private static Optional<FallbackReason> applicationReason(SparkConf conf, Settings settings) {
    if (conf.getBoolean("spark.io.encryption.enabled", false)
        && conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)) {
      return Optional.of(FallbackReason.ENCRYPTION);
    }
    if (!conf.get(DATA_IO, DEFAULT_DATA_IO).equals(DEFAULT_DATA_IO)) {
      return Optional.of(FallbackReason.CUSTOM_DATA_IO);
    }
    if (settings.blocks().codec().isEmpty()) {
      return Optional.of(FallbackReason.COMPRESSION_CODEC);
    }
    if (settings.blocks().checksum().isEmpty()) {
      return Optional.of(FallbackReason.CHECKSUM_ALGORITHM);
    }
    return Optional.empty();
  }

  /** How Sluice writes the records of {@code dependency}, unless the shuffle falls back. */
  public static RecordFormat formatOf(ShuffleDependency<?, ?, ?> dependency) {
    return RowSerializer.isRowSerializer(dependency.serializer()) ? RecordFormat.SQL_ROWS : RecordFormat.RDD_RECORDS;
  }

  /** Why Spark's sort shuffle must do {@code dependency}; empty when Sluice does it. */
  public Optional<FallbackReason> fallback(SparkConf conf, ShuffleDependency<?, ?, ?> dependency) {
    if (!isEnabled()) {
      return Optional.of(FallbackReason.DISABLED);
    }
    if (settings.codec() == Codec.SPARK) {
      return Optional.of(FallbackReason.CODEC_SPARK);
    }
    Optional<FallbackReason> reason = formatOf(dependency) == RecordFormat.SQL_ROWS
        ? rowsReason(dependency) : recordsReason(dependency);
    if (reason.isPresent()) {
      return reason;
    }
    // The dependency's own shuffleMergeAllowed() is set only after it has been registered.
    return pushBased(conf) ? Optional.of(FallbackReason.PUSH_BASED) : forEveryShuffle;
  }

  /** Settings of the session on this thread that have no effect, each with the reason. */
  public static Map<String, String> ignoredSettings(SparkConf conf) {
    return SQL_CLASSES ? SessionSettings.ignored(conf) : Map.of();
  }

  private boolean isEnabled() {
    return SQL_CLASSES ? SessionSettings.enabled(settings.enabled()) : settings.enabled();
  }

  private Optional<FallbackReason> recordsReason(ShuffleDependency<?, ?, ?> dependency) {
    if (!SQL_CLASSES) {
      return Optional.of(FallbackReason.NO_SQL_CLASSES);
    }
    if (!settings.recordsEnabled()) {
      return Optional.of(FallbackReason.RECORDS_DISABLED);
    }
    if (dependency.partitioner().numPartitions() > MAX_PARTITIONS) {
      return Optional.of(FallbackReason.TOO_MANY_PARTITIONS);
    }
    return RowBasedChecksums.wanted(dependency) ? Optional.of(FallbackReason.ROW_CHECKSUMS) : Optional.empty();
  }

  private static Optional<FallbackReason> rowsReason(ShuffleDependency<?, ?, ?> dependency) {
    Serializer serializer = dependency.serializer();
    if (dependency.mapSideCombine() || dependency.aggregator().isDefined()) {
      return Optional.of(FallbackReason.AGGREGATOR);
    }
    if (dependency.keyOrdering().isDefined()) {
      return Optional.of(FallbackReason.KEY_ORDERING);
    }
    if (dependency.partitioner().numPartitions() > MAX_PARTITIONS) {
      return Optional.of(FallbackReason.TOO_MANY_PARTITIONS);
    }
    if (LibraryReaders.registerNow()) {
      return Optional.of(FallbackReason.READ_BY_LIBRARY);
    }
    if (!RowSerializer.dataSizeReachable(serializer)) {
      return Optional.of(FallbackReason.DATA_SIZE_METRIC);
    }
    return RowBasedChecksums.known(dependency) ? Optional.empty() : Optional.of(FallbackReason.ROW_CHECKSUMS);
  }

  private static boolean sqlClasses() {
    try {
      Class.forName("org.apache.spark.sql.catalyst.expressions.UnsafeRow", false, ShufflePolicy.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static boolean pushBased(SparkConf conf) {
    return conf.getBoolean("spark.shuffle.push.enabled", false) && Utils.isPushBasedShuffleEnabled(conf, true, true);
  }
}
