package io.sluice.advisor.log;

import io.airlift.compress.lz4.Lz4Compressor;
import io.airlift.compress.snappy.SnappyCompressor;
import io.airlift.compress.zstd.ZstdOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;

/** Writes bytes in the framings of Spark's codecs. */
enum Compressed {
  PLAIN {
    @Override
    byte[] of(byte[] bytes) {
      return bytes;
    }
  },
  GZIP {
    @Override
    byte[] of(byte[] bytes) throws IOException {
      return through(bytes, GZIPOutputStream::new);
    }
  },
  /** Several frames, as Spark writes one at each flush. */
  ZSTD {
    @Override
    byte[] of(byte[] bytes) throws IOException {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      for (int from = 0; from < bytes.length; from += BLOCK) {
        out.write(
            through(Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + BLOCK)), ZstdOutputStream::new));
      }
      return out.toByteArray();
    }
  },
  LZ4 {
    @Override
    byte[] of(byte[] bytes) throws IOException {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      for (int from = 0; from < bytes.length; from += BLOCK) {
        block(out, Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + BLOCK)), from == 0);
      }
      header(out, 0x10, 0, 0);
      return out.toByteArray();
    }

    /** The first one stored, the others compressed. */
    private void block(ByteArrayOutputStream out, byte[] plain, boolean stored) throws IOException {
      Lz4Compressor compressor = new Lz4Compressor();
      byte[] compressed = new byte[compressor.maxCompressedLength(plain.length)];
      int length = compressor.compress(plain, 0, plain.length, compressed, 0, compressed.length);
      header(out, stored ? 0x15 : 0x25, stored ? plain.length : length, plain.length);
      out.write(stored ? plain : Arrays.copyOf(compressed, length));
    }

    private void header(ByteArrayOutputStream out, int token, int compressed, int plain) throws IOException {
      out.write("LZ4Block".getBytes());
      out.write(ByteBuffer.allocate(13).order(ByteOrder.LITTLE_ENDIAN).put((byte) token).putInt(compressed)
          .putInt(plain).putInt(0).array());
    }
  },
  /** Two streams one behind the other. */
  SNAPPY {
    @Override
    byte[] of(byte[] bytes) throws IOException {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      SnappyCompressor compressor = new SnappyCompressor();
      for (int from = 0; from < bytes.length; from += BLOCK) {
        out.write(SnappyBlockInput.MAGIC);
        out.write(ByteBuffer.allocate(8).putInt(1).putInt(1).array());
        byte[] plain = Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + BLOCK));
        byte[] compressed = new byte[compressor.maxCompressedLength(plain.length)];
        int length = compressor.compress(plain, 0, plain.length, compressed, 0, compressed.length);
        out.write(ByteBuffer.allocate(4).putInt(length).array());
        out.write(compressed, 0, length);
      }
      return out.toByteArray();
    }
  },
  /** Chunks in turn stored and compressed, the latter with runs of one byte as references. */
  LZF {
    @Override
    byte[] of(byte[] bytes) throws IOException {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      for (int from = 0, chunk = 0; from < bytes.length; from += BLOCK, chunk++) {
        byte[] plain = Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + BLOCK));
        byte[] compressed = chunk % 2 == 0 ? null : compressed(plain);
        out.write(new byte[] {'Z', 'V', (byte) (compressed == null ? 0 : 1)});
        if (compressed != null) {
          out.write(new byte[] {(byte) (compressed.length >> 8), (byte) compressed.length});
        }
        out.write(new byte[] {(byte) (plain.length >> 8), (byte) plain.length});
        out.write(compressed == null ? plain : compressed);
      }
      return out.toByteArray();
    }

    private byte[] compressed(byte[] plain) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      int i = 0;
      while (i < plain.length) {
        int run = 0;
        while (i > 0 && run < 264 && i + run < plain.length && plain[i + run] == plain[i - 1]) {
          run++;
        }
        if (run >= 9) {
          out.write(7 << 5);
          out.write(run - 9);
          out.write(0);
        } else if (run >= 3) {
          out.write(run - 2 << 5);
          out.write(0);
        } else {
          out.write(0);
          out.write(plain[i]);
          run = 1;
        }
        i += run;
      }
      return out.toByteArray();
    }
  };

  private static final int BLOCK = 3_000;

  abstract byte[] of(byte[] bytes) throws IOException;

  /** A stream that compresses what is written to another one. */
  interface Wrapping {
    OutputStream around(OutputStream out) throws IOException;
  }

  private static byte[] through(byte[] bytes, Wrapping wrapping) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (OutputStream compressing = wrapping.around(out)) {
      compressing.write(bytes);
    }
    return out.toByteArray();
  }
}
