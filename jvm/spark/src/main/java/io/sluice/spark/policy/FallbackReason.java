package io.sluice.spark.policy;

/** Why a shuffle is left to Spark's own sort shuffle. */
public enum FallbackReason {
  CODEC_SPARK("spark.sluice.codec is spark"),
  RECORDS_DISABLED("it is not of SQL rows and spark.sluice.records.enabled is false"),
  NO_SQL_CLASSES("the classes of Spark SQL are not on the class path"),
  AGGREGATOR("it has an aggregator"),
  KEY_ORDERING("it has a key ordering"),
  DISABLED("spark.sluice.enabled is false"),
  NATIVE_LIBRARY("the native library cannot be used here"),
  EXECUTOR_NATIVE_LIBRARY("an executor reported that it cannot use the native library"),
  ENCRYPTION("spark.io.encryption.enabled is true"),
  PUSH_BASED("push-based shuffle is on"),
  CUSTOM_DATA_IO("spark.shuffle.sort.io.plugin.class is not Spark's default"),
  COMPRESSION_CODEC("spark.io.compression.codec is none of lz4, zstd, snappy"),
  CHECKSUM_ALGORITHM("spark.shuffle.checksum.algorithm is none of ADLER32, CRC32, CRC32C"),
  TOO_MANY_PARTITIONS("it has more than 16777216 partitions"),
  DATA_SIZE_METRIC("the row serializer's dataSize metric cannot be reached on this version of Spark"),
  ROW_CHECKSUMS("its row-based checksums are of a kind that Sluice does not know");

  private final String text;

  FallbackReason(String text) {
    this.text = text;
  }

  /** Completes the sentence "the shuffle falls back because …". */
  public String text() {
    return text;
  }
}
