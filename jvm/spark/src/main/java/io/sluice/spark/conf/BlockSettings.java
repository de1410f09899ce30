package io.sluice.spark.conf;

import io.sluice.nativebridge.NativeCore;
import java.util.Locale;
import java.util.OptionalInt;
import org.apache.spark.SparkConf;

/**
 * The settings of Spark that determine a block's bytes and how they are written, in the native
 * core's terms.
 *
 * @param codec {@code CODEC_} constant for {@code spark.io.compression.codec}; empty when Sluice has none
 * @param codecName the codec's name, for messages
 * @param level {@code LEVEL_} constant
 * @param checksum {@code CHECKSUM_} constant; empty when Sluice does not know the algorithm
 * @param checksumName the algorithm's name, for messages
 * @param typicalShareOfStock bytes of a typical block for each byte that Spark's own block of the same rows has
 * @param syncWrites {@code spark.shuffle.sync}: whether files are forced to the disk
 */
public record BlockSettings(
    OptionalInt codec,
    String codecName,
    int level,
    OptionalInt checksum,
    String checksumName,
    double typicalShareOfStock,
    boolean syncWrites) {
  /** Measured; the table is in docs/decisions/0005-map-statuses-carry-sparks-sizes.md. */
  private static final double SHARE_OF_FAST_CODECS = 0.5;
  private static final double SHARE_OF_ZSTD = 0.77;

  static BlockSettings from(SparkConf conf, CodecLevel level) {
    boolean compress = conf.getBoolean("spark.shuffle.compress", true);
    String codecName = conf.get("spark.io.compression.codec", "lz4");
    boolean checked = conf.getBoolean("spark.shuffle.checksum.enabled", true);
    String checksumName = conf.get("spark.shuffle.checksum.algorithm", "ADLER32");
    return new BlockSettings(
        compress ? codec(codecName) : OptionalInt.of(NativeCore.CODEC_NONE),
        codecName,
        compress ? level.nativeLevel() : NativeCore.LEVEL_PLAIN,
        checked ? checksum(checksumName) : OptionalInt.of(NativeCore.CHECKSUM_NONE),
        checksumName,
        compress && level != CodecLevel.PLAIN ? typicalShareOfStock(codecName) : 1,
        conf.getBoolean("spark.shuffle.sync", false));
  }

  private static OptionalInt codec(String name) {
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "lz4", "org.apache.spark.io.lz4compressioncodec" -> OptionalInt.of(NativeCore.CODEC_LZ4);
      case "zstd", "org.apache.spark.io.zstdcompressioncodec" -> OptionalInt.of(NativeCore.CODEC_ZSTD);
      case "snappy", "org.apache.spark.io.snappycompressioncodec" -> OptionalInt.of(NativeCore.CODEC_SNAPPY);
      default -> OptionalInt.empty();
    };
  }

  private static double typicalShareOfStock(String codecName) {
    return codec(codecName).orElse(NativeCore.CODEC_NONE) == NativeCore.CODEC_ZSTD
        ? SHARE_OF_ZSTD
        : SHARE_OF_FAST_CODECS;
  }

  private static OptionalInt checksum(String name) {
    return switch (name.toUpperCase(Locale.ROOT)) {
      case "ADLER32" -> OptionalInt.of(NativeCore.CHECKSUM_ADLER32);
      case "CRC32" -> OptionalInt.of(NativeCore.CHECKSUM_CRC32);
      case "CRC32C" -> OptionalInt.of(NativeCore.CHECKSUM_CRC32C);
      default -> OptionalInt.empty();
    };
  }
}
