package io.sluice.spark.codec;

import io.sluice.nativebridge.FrameHeader;
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
  public static long frameBytes(int rowBytes) {
    return FrameHeader.BYTES + Integer.BYTES + (long) rowBytes;
  }

  /**
   * Writes the frame of a row at {@code start} of the file, which is created if it is not there. What the file had from
   * there on is cut off, and so is what was written when this fails.
   *
   * @param base object that holds the row, or null when {@code offset} is an address
   */
  public static void write(File file, long start, int fields, Object base, long offset, int rowBytes)
      throws IOException {
    try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
      out.setLength(start);
      boolean written = false;
      try {
        writeFrame(out, start, fields, base, offset, rowBytes);
        written = true;
      } finally {
        if (!written) {
          out.setLength(start);
        }
      }
    }
  }

  /** The header holds the payload's checksum, so it is written last. */
  private static void writeFrame(RandomAccessFile out, long start, int fields, Object base, long offset, int rowBytes)
      throws IOException {
    byte[] chunk = new byte[Math.min(CHUNK_BYTES, Math.max(Integer.BYTES, rowBytes))];
    CRC32C checksum = new CRC32C();
    out.seek(start + FrameHeader.BYTES);
    ByteBuffer.wrap(chunk).order(ByteOrder.LITTLE_ENDIAN).putInt(rowBytes);
    checksum.update(chunk, 0, Integer.BYTES);
    out.write(chunk, 0, Integer.BYTES);
    int count;
    for (int done = 0; done < rowBytes; done += count) {
      count = Math.min(chunk.length, rowBytes - done);
      Platform.copyMemory(base, offset + done, chunk, Platform.BYTE_ARRAY_OFFSET, count);
      checksum.update(chunk, 0, count);
      out.write(chunk, 0, count);
    }
    out.seek(start);
    out.write(new FrameHeader(FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 1, fields, rowBytes,
        Integer.BYTES + (long) rowBytes, (int) checksum.getValue()).toBytes());
  }
}
