package io.sluice.spark.compat;

import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.ConfigEntry;

import org.apache.spark.internal.config.package$;

/**
 * The settings of Spark's own shuffle fetch, read through Spark's config entries, so that keys, alternatives,
 * defaults and checks are those of the running line.
 *
 * @param maxBytesInFlight remote bytes asked for and not yet read, per task
 * @param maxBlockBytesToMemory remote requests larger than this are fetched to disk
 * @param detectCorrupt whether an I/O error inside a fetched stream is diagnosed by Spark
 * @param checksumEnabled whether the writer stored a checksum per partition, used to diagnose a corruption
 */
public record FetchSettings(
    long maxBytesInFlight,
    int maxRequestsInFlight,
    int maxBlocksInFlightPerAddress,
    long maxBlockBytesToMemory,
    int maxAttemptsOnNettyOom,
    boolean detectCorrupt,
    boolean detectCorruptUseExtraMemory,
    boolean checksumEnabled,
    String checksumAlgorithm,
    boolean oldFetchProtocol,
    boolean ioEncryption) {

  private static final long MIB = 1024 * 1024;

  /** As {@code BlockStoreShuffleReader} reads them. */
  public static FetchSettings of(SparkConf conf) {
    package$ config = package$.MODULE$;
    return new FetchSettings(
        longOf(conf, config.REDUCER_MAX_SIZE_IN_FLIGHT()) * MIB,
        intOf(conf, config.REDUCER_MAX_REQS_IN_FLIGHT()),
        intOf(conf, config.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS()),
        longOf(conf, config.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()),
        intOf(conf, config.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM()),
        booleanOf(conf, config.SHUFFLE_DETECT_CORRUPT()),
        booleanOf(conf, config.SHUFFLE_DETECT_CORRUPT_MEMORY()),
        booleanOf(conf, config.SHUFFLE_CHECKSUM_ENABLED()),
        conf.get(config.SHUFFLE_CHECKSUM_ALGORITHM()),
        booleanOf(conf, config.SHUFFLE_USE_OLD_FETCH_PROTOCOL()),
        booleanOf(conf, config.IO_ENCRYPTION_ENABLED()));
  }

  /** Whether several partitions of one map output may be fetched as one block (Sluice frames always concatenate). */
  public boolean batchFetchAllowed() {
    return !oldFetchProtocol;
  }

  /** The same of blocks that Spark wrote: streams that it encrypted do not concatenate. */
  public boolean batchFetchAllowedForStreams() {
    return batchFetchAllowed() && !ioEncryption;
  }

  private static long longOf(SparkConf conf, ConfigEntry<Object> entry) {
    return (Long) conf.get(entry);
  }

  private static int intOf(SparkConf conf, ConfigEntry<Object> entry) {
    return (Integer) conf.get(entry);
  }

  private static boolean booleanOf(SparkConf conf, ConfigEntry<Object> entry) {
    return (Boolean) conf.get(entry);
  }
}
