package io.sluice.spark.write;

import io.sluice.spark.codec.FrameIndex;
import io.sluice.spark.codec.PlainRun;
import io.sluice.spark.seal.SealsDigest;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;

/**
 * One of {@link JavaRuns}: frames in memory, or from {@code fileStart} on in a file. Guarded by the lock of the runs
 * while encodes may run; a spill or a commit is alone.
 */
final class JavaRun {
  private final FrameIndex index;
  /** Of the frames' seals; null when they are not sealed. */
  private final byte[] sealsDigest;
  /** Null when the frames are in a file. */
  private PlainRun memory;
  private File file;
  private long fileStart;
  /** The first entry of the index that the commit has not copied. */
  private int next;
  /** Reads the frames while they are committed; null when they are in memory. */
  private SpilledRunReader reader;

  /** A run in memory, which this one owns now. */
  JavaRun(PlainRun memory) {
    this.memory = memory;
    this.index = memory.index();
    this.sealsDigest = memory.sealsDigest();
  }

  /** A run of one frame in a file, from {@code start} on; {@code seal} is null when it is not sealed. */
  JavaRun(FrameIndex index, File file, long start, byte[] seal) {
    this.sealsDigest = seal == null ? null : SealsDigest.start().digest(seal);
    this.index = index;
    this.file = file;
    this.fileStart = start;
  }

  FrameIndex index() {
    return index;
  }

  boolean isInMemory() {
    return memory != null;
  }

  /** What the digest of the frames' seals must be; null when they are not sealed. */
  byte[] sealsDigest() {
    return sealsDigest;
  }

  /** The file that holds the frames; null when they are in memory. */
  File file() {
    return file;
  }

  /** Copies all frames, which are in memory, to {@code out}. */
  void copyAll(byte[] buffer, OutputStream out) throws IOException {
    copyMemory(0, index.bytes(), buffer, out);
  }

  /** The frames have been copied to {@code target}, from {@code start} on: frees the memory. */
  void movedTo(File target, long start) {
    file = target;
    fileStart = start;
    free();
  }

  /** A commit begins; {@code openReader} reads the file where the frames are in one. */
  void startCommit(SpilledRunReader openReader) {
    next = 0;
    reader = openReader;
  }

  /** Where the frames begin in {@link #file}. */
  long fileStart() {
    return fileStart;
  }

  /** Copies the frames of {@code partition}; partitions come in ascending order. */
  long copyPartition(int partition, byte[] buffer, OutputStream out) throws IOException {
    if (next == index.partitions() || index.partition(next) != partition) {
      return 0;
    }
    long start = index.start(next);
    long bytes = index.end(next) - start;
    next++;
    if (reader == null) {
      copyMemory(start, bytes, buffer, out);
    } else {
      reader.copy(start, bytes, out);
    }
    return bytes;
  }

  private void copyMemory(long start, long count, byte[] buffer, OutputStream out) throws IOException {
    for (long done = 0; done < count; done += buffer.length) {
      int now = (int) Math.min(buffer.length, count - done);
      memory.get(start + done, buffer, now);
      out.write(buffer, 0, now);
    }
  }

  /** Frees the memory if it holds some. */
  void free() {
    if (memory != null) {
      memory.close();
      memory = null;
    }
  }
}
