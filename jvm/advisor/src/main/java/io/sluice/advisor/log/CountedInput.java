package io.sluice.advisor.log;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Reports the bytes that are read from a file. */
final class CountedInput extends FilterInputStream {
  private final ReadProgress progress;

  CountedInput(InputStream in, ReadProgress progress) {
    super(in);
    this.progress = progress;
  }

  @Override
  public int read() throws IOException {
    int value = super.read();
    if (value >= 0) {
      progress.read(1);
    }
    return value;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    int count = super.read(into, offset, length);
    if (count > 0) {
      progress.read(count);
    }
    return count;
  }
}
