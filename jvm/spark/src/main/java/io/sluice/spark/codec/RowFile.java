package io.sluice.spark.codec;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.seal.FrameSealer;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.apache.spark.unsafe.Platform;

/**
 * Writes single rows to a file, each as a plain frame of its own: rows that are too long for the memory outside the
 * heap. A row is copied in chunks from where it is, so this takes no other memory than a chunk's.
 */
public final class RowFile {
  private static final int CHUNK_BYTES = 256 * 1024;

  private RowFile() {}

  /** The bytes that the frame of a row takes. */
  public static long frameBytes(int rowBytes, boolean sealed) {
    return FrameHeader.BYTES + Integer.BYTES + (long) rowBytes + (sealed ? FrameHeader.SEAL_BYTES : 0);
  }

  /**
   * Writes the frame of a row at {@code start} of the file, which is created if it is not there. What the file had from
   * there on is cut off, and so is what was written when this fails.
   *
   * @param base object that holds the row, or null when {@code offset} is an address
   * @param sealer of the map output; null when frames are not sealed
   * @return the frame's seal; null without a sealer
   */
  public static byte[] write(File file, long start, int partition, int fields, Object base, long offset, int rowBytes,
      FrameSealer sealer) throws IOException {
    try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
      out.setLength(start);
      boolean written = false;
      try {
        FrameHeader plain = new FrameHeader(FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 0, 1, fields, rowBytes,
            Integer.BYTES + (long) rowBytes, 0);
        Payload payload = sealer == null ? new PlainPayload(out, plain)
            : new SealedPayload(out, sealer.start(plain, partition));
        out.seek(start + FrameHeader.BYTES);
        writePayload(payload, base, offset, rowBytes);
        byte[] header = payload.finish();
        out.seek(start);
        out.write(header);
        written = true;
        return payload.seal();
      } finally {
        if (!written) {
          out.setLength(start);
        }
      }
    }
  }

  private static void writePayload(Payload payload, Object base, long offset, int rowBytes) throws IOException {
    byte[] chunk = new byte[Math.min(CHUNK_BYTES, Math.max(Integer.BYTES, rowBytes))];
    ByteBuffer.wrap(chunk).order(ByteOrder.LITTLE_ENDIAN).putInt(rowBytes);
    payload.write(chunk, Integer.BYTES);
    int count;
    for (int done = 0; done < rowBytes; done += count) {
      count = Math.min(chunk.length, rowBytes - done);
      Platform.copyMemory(base, offset + done, chunk, Platform.BYTE_ARRAY_OFFSET, count);
      payload.write(chunk, count);
    }
  }

  /** What a frame's payload is written to. The header holds its checksum, so it is made last. */
  private interface Payload {
    void write(byte[] bytes, int count) throws IOException;

    /** The payload is complete: the frame's header. */
    byte[] finish() throws IOException;

    /** After {@link #finish}; null if it has none. */
    byte[] seal();
  }

  private static final class PlainPayload implements Payload {
    private final RandomAccessFile out;
    private final FrameHeader header;
    private final CRC32C checksum = new CRC32C();

    PlainPayload(RandomAccessFile out, FrameHeader header) {
      this.out = out;
      this.header = header;
    }

    @Override
    public void write(byte[] bytes, int count) throws IOException {
      checksum.update(bytes, 0, count);
      out.write(bytes, 0, count);
    }

    @Override
    public byte[] finish() {
      return header.withPayloadCrc((int) checksum.getValue()).toBytes();
    }

    @Override
    public byte[] seal() {
      return null;
    }
  }

  private static final class SealedPayload implements Payload {
    private final RandomAccessFile out;
    private final FrameSealer.Frame frame;
    private byte[] sealed = {};

    SealedPayload(RandomAccessFile out, FrameSealer.Frame frame) {
      this.out = out;
      this.frame = frame;
    }

    @Override
    public void write(byte[] bytes, int count) throws IOException {
      if (sealed.length < count + FrameSealer.Frame.MOST_EXTRA_BYTES) {
        sealed = new byte[count + FrameSealer.Frame.MOST_EXTRA_BYTES];
      }
      out.write(sealed, 0, frame.update(bytes, count, sealed));
    }

    @Override
    public byte[] finish() throws IOException {
      out.write(frame.finish());
      return frame.header();
    }

    @Override
    public byte[] seal() {
      return frame.seal();
    }
  }
}
