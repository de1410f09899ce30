package io.sluice.spark.write;

import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** Reads a spilled run from its start to its end, some partitions at once where they are small. */
final class SpilledRunReader {
  private final File file;
  private final FileChannel in;
  private final long fileStart;
  private final long bytes;
  private final byte[] buffer;
  /** What of the run is in the buffer. */
  private long bufferStart;
  private int buffered;

  SpilledRunReader(File file, FileChannel in, long fileStart, long bytes, int bufferBytes) {
    this.file = file;
    this.in = in;
    this.fileStart = fileStart;
    this.bytes = bytes;
    this.buffer = new byte[(int) Math.min(bufferBytes, bytes)];
  }

  void copy(long start, long count, OutputStream out) throws IOException {
    for (long at = start; at < start + count;) {
      if (at < bufferStart || at >= bufferStart + buffered) {
        fill(at);
      }
      int from = (int) (at - bufferStart);
      int now = (int) Math.min(buffered - from, start + count - at);
      out.write(buffer, from, now);
      at += now;
    }
  }

  private void fill(long start) throws IOException {
    ByteBuffer into = ByteBuffer.wrap(buffer, 0, (int) Math.min(buffer.length, bytes - start));
    bufferStart = start;
    buffered = 0;
    while (into.hasRemaining()) {
      int read = read(into, fileStart + start + into.position());
      if (read < 0) {
        throw new EOFException("spill file " + file + " ends " + into.remaining() + " bytes early");
      }
      buffered += read;
    }
  }

  private int read(ByteBuffer into, long at) throws IOException {
    try {
      return in.read(into, at);
    } catch (IOException e) {
      throw new IOException("reading spill file " + file + " failed: " + e.getMessage(), e);
    }
  }
}
