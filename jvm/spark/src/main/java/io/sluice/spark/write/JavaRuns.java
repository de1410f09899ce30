package io.sluice.spark.write;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.SluiceException;
import io.sluice.spark.codec.FrameIndex;
import io.sluice.spark.codec.PlainRun;
import io.sluice.spark.codec.RowHashes;
import io.sluice.spark.codec.RowsByPartition;
import io.sluice.spark.seal.FrameSealer;
import io.sluice.spark.seal.OutputKeys;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.apache.spark.TaskContext;

/**
 * Runs of plain frames, written by Java: for executors without the native library. A run that is moved to a file keeps
 * its shape there, so that each partition's frames can be copied to the data file in the order of the runs.
 */
final class JavaRuns implements Runs {
  private static final int COPY_BYTES = 64 * 1024;
  private static final int PARTITIONS_PER_KILL_CHECK = 1024;

  private final int partitions;
  private final Arena arena;
  /** Guarded by this; null when no checksum of rows is wanted. */
  private final RowHashes hashes;
  /** Null when frames are not sealed. */
  private final FrameSealer sealer;
  /** By sequence; guarded by this. */
  private final Map<Long, JavaRun> runs = new TreeMap<>();
  private boolean closed;

  /** @param keys null when frames are not sealed */
  JavaRuns(int partitions, Arena arena, boolean rowChecksums, OutputKeys keys) {
    this.sealer = keys == null ? null : new FrameSealer(keys);
    this.partitions = partitions;
    this.arena = arena;
    this.hashes = rowChecksums ? new RowHashes(partitions) : null;
  }

  /** Row by row references for the sort, then the frames; a large row takes no more than its bytes. */
  @Override
  public long encodeNeeds(long rowBytes, long rows, long largeRowBytes, int fields) {
    return RowsByPartition.neededBytes(rows) + PlainRun.mostBytes(rowBytes, rows, partitions, sealer != null);
  }

  @Override
  public long encode(long sequence, int fields, long[] pages) {
    try (RowsByPartition rows = RowsByPartition.of(pages, partitions, arena)) {
      PlainRun run = rows == null ? null : PlainRun.of(rows, fields, partitions, arena, hashes != null,
          sealer);
      if (run == null) {
        throw new NativeException(NativeCore.NO_MEMORY,
            "the limit of block memory leaves no room for the frames of a batch");
      }
      add(sequence, run);
      return run.bytes();
    }
  }

  private synchronized void add(long sequence, PlainRun run) {
    boolean added = false;
    try {
      keep(sequence, new JavaRun(run));
      added = true;
    } finally {
      if (!added) {
        run.close();
      }
    }
    if (hashes != null) {
      run.moveHashesTo(hashes);
    }
  }

  /** The caller holds the lock. */
  private void keep(long sequence, JavaRun run) {
    if (closed) {
      throw new SluiceException("a batch was encoded after its map task had ended");
    }
    runs.put(sequence, run);
    arena.addScratch(run.index().heapBytes());
  }

  @Override
  public synchronized void addRow(long sequence, int partition, File file, long start, long bytes, long rowHash,
      byte[] seal) {
    keep(sequence, new JavaRun(FrameIndex.ofOne(partition, bytes), file, start, seal));
    if (hashes != null) {
      hashes.addRow(partition, rowHash);
    }
  }

  @Override
  public synchronized long memoryBytes() {
    return inMemory().stream().mapToLong(run -> run.index().bytes()).sum();
  }

  /** None: the memory for all frames of a batch is leased before the first. */
  @Override
  public long framesRepeated() {
    return 0;
  }

  private List<JavaRun> inMemory() {
    List<JavaRun> found = new ArrayList<>(runs.values());
    found.removeIf(run -> !run.isInMemory());
    return found;
  }

  @Override
  public long spill(File file) throws IOException {
    List<JavaRun> moved;
    synchronized (this) {
      moved = inMemory();
    }
    byte[] buffer = new byte[COPY_BYTES];
    try (FileOutputStream out = new FileOutputStream(file)) {
      for (JavaRun run : moved) {
        run.copyAll(buffer, out);
      }
    }
    long total = 0;
    synchronized (this) {
      for (JavaRun run : moved) {
        run.movedTo(file, total);
        total += run.index().bytes();
      }
    }
    return total;
  }

  @Override
  public long commit(File file, int checksumAlgorithm, long[] lengths, long[] checksums) throws IOException {
    List<JavaRun> inOrder;
    synchronized (this) {
      inOrder = new ArrayList<>(runs.values());
    }
    long total = 0;
    byte[] buffer = new byte[COPY_BYTES];
    SealedPartitions sealed = sealer == null ? null : new SealedPartitions(sealer.keys(), inOrder.size());
    try (SpillReaders spills = new SpillReaders(inOrder); DataFile data = new DataFile(file,
        checksums.length == 0 ? null : checksum(checksumAlgorithm))) {
      for (int partition = 0; partition < partitions; partition++) {
        if (partition % PARTITIONS_PER_KILL_CHECK == 0) {
          stopIfKilled();
        }
        lengths[partition] = 0;
        for (int run = 0; run < inOrder.size(); run++) {
          OutputStream out = sealed == null ? data : sealed.passTo(data, partition, run);
          lengths[partition] += inOrder.get(run).copyPartition(partition, buffer, out);
        }
        if (sealed != null && lengths[partition] > 0) {
          lengths[partition] += sealed.writeEndMark(data);
        }
        if (checksums.length > 0) {
          checksums[partition] = data.nextChecksum();
        }
        total += lengths[partition];
      }
      data.flush();
      if (sealed != null) {
        sealed.check(inOrder);
      }
    }
    free();
    return total;
  }

  private static void stopIfKilled() {
    TaskContext context = TaskContext.get();
    if (context != null) {
      context.killTaskIfInterrupted();
    }
  }

  private static Checksum checksum(int algorithm) {
    switch (algorithm) {
      case NativeCore.CHECKSUM_ADLER32 :
        return new Adler32();
      case NativeCore.CHECKSUM_CRC32 :
        return new CRC32();
      case NativeCore.CHECKSUM_CRC32C :
        return new CRC32C();
      default :
        throw new IllegalArgumentException("checksum algorithm " + algorithm);
    }
  }

  @Override
  public synchronized long rowChecksum() {
    return hashes.checksum();
  }

  @Override
  public synchronized void close() {
    closed = true;
    free();
  }

  private synchronized void free() {
    for (JavaRun run : runs.values()) {
      run.free();
      arena.addScratch(-run.index().heapBytes());
    }
    runs.clear();
  }
}
