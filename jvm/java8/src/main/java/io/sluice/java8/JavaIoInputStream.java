package io.sluice.java8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** For {@link InputStream}. */
public final class JavaIoInputStream {
  private JavaIoInputStream() {}

  private static final int PIECE_BYTES = 8192;

  public static byte[] readAllBytes(InputStream in) throws IOException {
    return readNBytes(in, Integer.MAX_VALUE);
  }

  public static byte[] readNBytes(InputStream in, int limit) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] piece = new byte[PIECE_BYTES];
    int read;
    while ((read = in.read(piece, 0, Math.min(piece.length, limit - all.size()))) > 0) {
      all.write(piece, 0, read);
    }
    return all.toByteArray();
  }

  public static int readNBytes(InputStream in, byte[] into, int offset, int length) throws IOException {
    int total = 0;
    int read;
    while (total < length && (read = in.read(into, offset + total, length - total)) > 0) {
      total += read;
    }
    return total;
  }

  public static long transferTo(InputStream in, OutputStream out) throws IOException {
    byte[] piece = new byte[PIECE_BYTES];
    long total = 0;
    int read;
    while ((read = in.read(piece)) > 0) {
      out.write(piece, 0, read);
      total += read;
    }
    return total;
  }
}
