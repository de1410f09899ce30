package io.sluice.spark.codec;

import io.sluice.nativebridge.FrameHeader;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;
import org.apache.spark.unsafe.Platform;

/**
 * Writes a file that holds one row, as a plain frame: for a row that is too long for the memory outside the heap. The
 * row is copied in chunks, from wherever it is, so this takes no other memory than the chunk's.
 */
public final class RowFile {
  private static final int CHUNK_BYTES = 256 * 1024;

  private RowFile() {}

  /**
   * Writes the row's frame to a new {@code file}.
   *
   * @param base object that holds the row, or null when {@code offset} is an address
   * @param length bytes of the row
   * @return bytes written
   */
  public static long write(File file, int fields, Object base, long offset, int length) throws IOException {
    long payloadBytes = (long) Integer.BYTES + length;
    CRC32C checksum = new CRC32C();
    byte[] bytes = new byte[Math.min(CHUNK_BYTES, Math.max(Integer.BYTES, length))];
    ByteBuffer chunk = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    try (FileChannel out = FileChannel.open(file.toPath(), StandardOpenOption.CREATE,
        StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
      out.position(FrameHeader.BYTES);
      chunk.putInt(0, length);
      put(chunk, Integer.BYTES, checksum, out);
      for (int done = 0; done < length; done += bytes.length) {
        int count = Math.min(bytes.length, length - done);
        Platform.copyMemory(base, offset + done, bytes, Platform.BYTE_ARRAY_OFFSET, count);
        put(chunk, count, checksum, out);
      }
      // The header holds the payload's checksum, so it is written last.
      out.position(0);
      write(ByteBuffer.wrap(new FrameHeader(FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 1, fields, length,
          payloadBytes, (int) checksum.getValue()).toBytes()), out);
    }
    return FrameHeader.BYTES + payloadBytes;
  }

  private static void put(ByteBuffer chunk, int count, CRC32C checksum, FileChannel out) throws IOException {
    checksum.update(chunk.array(), 0, count);
    chunk.position(0).limit(count);
    write(chunk, out);
    chunk.clear();
  }

  private static void write(ByteBuffer bytes, FileChannel out) throws IOException {
    while (bytes.hasRemaining()) {
      out.write(bytes);
    }
  }
}
