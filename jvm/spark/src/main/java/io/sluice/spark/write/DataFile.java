package io.sluice.spark.write;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.Checksum;

/** The data file of a commit, and Spark's checksum of each partition that is written to it. */
final class DataFile extends OutputStream {
  private static final int BUFFER_BYTES = 64 * 1024;

  private final File file;
  private final OutputStream out;
  /** Null when none is wanted. */
  private final Checksum checksum;

  DataFile(File file, Checksum checksum) throws IOException {
    this.file = file;
    this.checksum = checksum;
    try {
      this.out = new BufferedOutputStream(new FileOutputStream(file), BUFFER_BYTES);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  private IOException failed(IOException cause) {
    return new IOException("writing the map output to " + file + " failed: " + cause.getMessage(), cause);
  }

  /** The checksum of what was written since the last call. */
  long nextChecksum() {
    long value = checksum.getValue();
    checksum.reset();
    return value;
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    try {
      out.write(bytes, offset, count);
    } catch (IOException e) {
      throw failed(e);
    }
    if (checksum != null) {
      checksum.update(bytes, offset, count);
    }
  }

  @Override
  public void write(int single) throws IOException {
    write(new byte[] {(byte) single}, 0, 1);
  }

  @Override
  public void flush() throws IOException {
    try {
      out.flush();
    } catch (IOException e) {
      throw failed(e);
    }
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
