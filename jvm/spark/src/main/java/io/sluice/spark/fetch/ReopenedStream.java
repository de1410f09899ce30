package io.sluice.spark.fetch;

import io.sluice.spark.seal.PositionedBytes;
import java.io.IOException;
import java.io.InputStream;

/**
 * A block's bytes by position, from streams over it: one for positions that go up, and a new one for each that goes
 * back. Not thread-safe.
 */
final class ReopenedStream implements PositionedBytes {
  /** Opens the block at its start. */
  @FunctionalInterface
  interface Source {
    InputStream open() throws IOException;
  }

  private final Source source;
  private InputStream stream;
  private long at;

  ReopenedStream(Source source) {
    this.source = source;
  }

  @Override
  public int read(long position, byte[] target) throws IOException {
    if (stream == null || position < at) {
      close();
      stream = source.open();
      at = 0;
    }
    while (at < position) {
      long skipped = stream.skip(position - at);
      if (skipped <= 0) {
        return 0;
      }
      at += skipped;
    }
    int read = stream.readNBytes(target, 0, target.length);
    at += read;
    return read;
  }

  @Override
  public void close() throws IOException {
    if (stream != null) {
      InputStream closed = stream;
      stream = null;
      closed.close();
    }
  }
}
