package io.sluice.spark.write;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import java.io.File;
import java.io.IOException;

/** The native core's. */
final class NativePartCommit implements PartCommit {
  private final long writer;
  private File file;

  /** @param writer the native core's handle of the map output */
  NativePartCommit(long writer) {
    this.writer = writer;
  }

  @Override
  public void encodeUntil(long sequence, int fields, long[] pages, int until) {
    NativeException.check(NativeCore.writerEncodeUntil(writer, sequence, fields, pages, until));
  }

  @Override
  public void begin(File target, int checksumAlgorithm) throws IOException {
    file = target;
    check(NativeCore.writerBeginParts(writer, target.getPath(), checksumAlgorithm));
  }

  @Override
  public void write(int until) throws IOException {
    check(NativeCore.writerCommitPart(writer, until));
  }

  private void check(int answer) throws IOException {
    if (NativeException.isFileFailure(answer)) {
      throw new IOException("writing the map output to " + file + " failed: " + NativeCore.lastErrorMessage());
    }
    NativeException.check(answer);
  }

  @Override
  public long end(long[] lengths, long[] checksums) {
    return NativeException.check(
        NativeCore.writerEndParts(writer, lengths, checksums.length == 0 ? null : checksums));
  }

  @Override
  public void abort() {
    NativeException.check(NativeCore.writerAbortParts(writer));
  }
}
