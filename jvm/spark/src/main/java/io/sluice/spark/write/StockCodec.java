package io.sluice.spark.write;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Locale;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;

/**
 * The codec with which Spark's own writers would compress a partition's stream, and how many of a stream's first
 * bytes are needed to estimate the compressed size of the rest.
 *
 * @param codec Spark's
 * @param sampleBytes how much is taken of most streams
 * @param longSampleBytes how much is taken of a few streams, to learn whether the codec does better further on: the
 *     same as {@code sampleBytes} where it compresses each block of a stream by itself
 * @param sampledShare one byte in so many is compressed for the estimate: less where the codec is slower
 */
record StockCodec(CompressionCodec codec, int sampleBytes, int longSampleBytes, int sampledShare) {
  private static final int SAMPLE_BYTES = 32 * 1024;
  private static final int MAX_SAMPLE_BYTES = 256 * 1024;
  private static final int SHARE_OF_FAST_CODECS = 96;
  private static final int SHARE_OF_SLOW_CODECS = 128;

  /** The session's codec; null when map output is not compressed. */
  static StockCodec of(SparkConf conf) {
    if (!conf.getBoolean("spark.shuffle.compress", true)) {
      return null;
    }
    CompressionCodec codec = CompressionCodec$.MODULE$.createCodec(conf);
    String name = codec.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    if (name.startsWith("lz4")) {
      return ofBlocks(codec, conf.getSizeAsBytes("spark.io.compression.lz4.blockSize", "32k"));
    }
    if (name.startsWith("snappy")) {
      return ofBlocks(codec, conf.getSizeAsBytes("spark.io.compression.snappy.blockSize", "32k"));
    }
    return new StockCodec(codec, SAMPLE_BYTES, MAX_SAMPLE_BYTES, SHARE_OF_SLOW_CODECS);
  }

  private static StockCodec ofBlocks(CompressionCodec codec, long blockBytes) {
    return blockBytes <= MAX_SAMPLE_BYTES
        ? new StockCodec(codec, (int) blockBytes, (int) blockBytes, SHARE_OF_FAST_CODECS)
        : new StockCodec(codec, SAMPLE_BYTES, MAX_SAMPLE_BYTES, SHARE_OF_FAST_CODECS);
  }

  /** How many bytes a stream has that holds the first {@code length} of {@code bytes}. */
  long compressedBytes(byte[] bytes, int length) {
    CountingStream counting = new CountingStream();
    try (OutputStream stream = codec.compressedOutputStream(counting)) {
      stream.write(bytes, 0, length);
    } catch (IOException e) {
      throw new UncheckedIOException("compressing a sample of " + length + " bytes", e);
    }
    return counting.count;
  }

  private static final class CountingStream extends OutputStream {
    private long count;

    @Override
    public void write(int b) {
      count++;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      count += length;
    }
  }
}
