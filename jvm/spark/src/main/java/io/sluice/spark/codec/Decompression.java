package io.sluice.spark.codec;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import io.sluice.nativebridge.CorruptFrameException;
import java.io.IOException;
import org.xerial.snappy.Snappy;

/**
 * The general codecs inside of frames. Zstandard's and Snappy's are the libraries that Spark brings: they load native
 * code of their own, as Spark's shuffle does with the same {@code spark.io.compression.codec}. In the order of the
 * format's numbers.
 */
enum Decompression {
  NONE {
    @Override
    long decompress(byte[] packed, byte[] target) {
      throw new IllegalStateException("bytes without a codec are copied");
    }
  },
  LZ4 {
    @Override
    long decompress(byte[] packed, byte[] target) throws IOException {
      return new Lz4Block(packed, target).decompress();
    }
  },
  ZSTD {
    @Override
    long decompress(byte[] packed, byte[] target) throws IOException {
      long bytes = Zstd.decompressByteArray(target, 0, target.length, packed, 0, packed.length);
      if (Zstd.isError(bytes)) {
        throw new IOException(Zstd.getErrorName(bytes));
      }
      return bytes;
    }
  },
  SNAPPY {
    @Override
    long decompress(byte[] packed, byte[] target) throws IOException {
      int claimed = Snappy.uncompressedLength(packed, 0, packed.length);
      return claimed == target.length ? Snappy.rawUncompress(packed, 0, packed.length, target, 0) : claimed;
    }
  };

  private static final Decompression[] BY_NUMBER = values();

  static Decompression of(int number) throws CorruptFrameException {
    if (number >= BY_NUMBER.length) {
      throw new CorruptFrameException("unknown general codec " + number);
    }
    return BY_NUMBER[number];
  }

  /** Fills {@code target} exactly. */
  final void fill(byte[] packed, byte[] target) throws CorruptFrameException {
    long bytes;
    try {
      bytes = decompress(packed, target);
    } catch (IOException | ZstdException e) {
      throw new CorruptFrameException(this + " data is corrupt: " + e.getMessage());
    }
    if (bytes != target.length) {
      throw new CorruptFrameException(this + " data gives " + bytes + " bytes, " + target.length + " expected");
    }
  }

  abstract long decompress(byte[] packed, byte[] target) throws IOException;
}
