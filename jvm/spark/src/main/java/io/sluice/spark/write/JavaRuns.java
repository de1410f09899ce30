package io.sluice.spark.write;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.SluiceException;
import io.sluice.spark.codec.PlainRun;
import io.sluice.spark.codec.RowHashes;
import io.sluice.spark.codec.RowsByPartition;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
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
  /** Buffers of a commit for all spilled runs together, unless there are so many that each has the least. */
  private static final long ALL_READ_BYTES = 8 << 20;
  private static final long LEAST_READ_BYTES = 4 * 1024;
  private static final int PARTITIONS_PER_KILL_CHECK = 1024;

  /** A run, and where it is: in memory, or from {@code fileStart} on in {@code file}. */
  private static final class Place {
    private final PlainRun run;
    private File file;
    private long fileStart;
    /** Of the partitions that have rows in the run, the first that the commit has not copied. */
    private int next;
    /** Reads the run while it is committed; null when it is in memory. */
    private SpilledRun spilled;

    Place(PlainRun run) {
      this.run = run;
    }

    /** Copies the frames of {@code partition}; partitions come in ascending order. */
    long copyPartition(int partition, byte[] buffer, OutputStream out) throws IOException {
      if (next == run.filledPartitions() || run.partition(next) != partition) {
        return 0;
      }
      long start = run.start(next);
      long bytes = run.end(next) - start;
      next++;
      if (spilled == null) {
        copyMemory(run, start, bytes, buffer, out);
      } else {
        spilled.copy(start, bytes, out);
      }
      return bytes;
    }
  }

  private final int partitions;
  private final Arena arena;
  /** Guarded by this; null when no checksum of rows is wanted. */
  private final RowHashes hashes;
  /** By sequence; guarded by this. */
  private final Map<Long, Place> places = new TreeMap<>();
  private boolean closed;

  JavaRuns(int partitions, Arena arena, boolean rowChecksums) {
    this.partitions = partitions;
    this.arena = arena;
    this.hashes = rowChecksums ? new RowHashes(partitions) : null;
  }

  /** Row by row references for the sort, then the frames; a large row takes no more than its bytes. */
  @Override
  public long encodeNeeds(long rowBytes, long rows, long largeRowBytes, int fields) {
    return RowsByPartition.neededBytes(rows) + PlainRun.mostBytes(rowBytes, rows, partitions);
  }

  @Override
  public long encode(long sequence, int fields, long[] pages) {
    try (RowsByPartition rows = RowsByPartition.of(pages, partitions, arena)) {
      PlainRun run = rows == null ? null : PlainRun.of(rows, fields, partitions, arena, hashes != null);
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
      if (closed) {
        throw new SluiceException("a batch was encoded after its map task had ended");
      }
      places.put(sequence, new Place(run));
      added = true;
    } finally {
      if (!added) {
        run.close();
      }
    }
    arena.addScratch(run.indexBytes());
    if (hashes != null) {
      run.moveHashesTo(hashes);
    }
  }

  @Override
  public synchronized long memoryBytes() {
    return inMemory().stream().mapToLong(place -> place.run.bytes()).sum();
  }

  private List<Place> inMemory() {
    List<Place> found = new ArrayList<>(places.values());
    found.removeIf(place -> place.file != null);
    return found;
  }

  @Override
  public long spill(File file) throws IOException {
    List<Place> moved;
    synchronized (this) {
      moved = inMemory();
    }
    long total = 0;
    byte[] buffer = new byte[COPY_BYTES];
    try (FileOutputStream out = new FileOutputStream(file)) {
      for (Place place : moved) {
        place.fileStart = total;
        copyMemory(place.run, 0, place.run.bytes(), buffer, out);
        total += place.run.bytes();
      }
    }
    synchronized (this) {
      for (Place place : moved) {
        place.file = file;
        place.run.close();
      }
    }
    return total;
  }

  private static void copyMemory(PlainRun run, long start, long count, byte[] buffer, OutputStream out)
      throws IOException {
    for (long done = 0; done < count; done += buffer.length) {
      int now = (int) Math.min(buffer.length, count - done);
      run.get(start + done, buffer, now);
      out.write(buffer, 0, now);
    }
  }

  @Override
  public long commit(File file, int checksumAlgorithm, long[] lengths, long[] checksums) throws IOException {
    List<Place> inOrder;
    synchronized (this) {
      inOrder = new ArrayList<>(places.values());
    }
    long total = 0;
    byte[] buffer = new byte[COPY_BYTES];
    try (SpillFilesOfRuns spills = new SpillFilesOfRuns(inOrder); DataFile data = new DataFile(file,
        checksums.length == 0 ? null : checksum(checksumAlgorithm))) {
      for (int partition = 0; partition < partitions; partition++) {
        if (partition % PARTITIONS_PER_KILL_CHECK == 0) {
          stopIfKilled();
        }
        lengths[partition] = 0;
        for (Place place : inOrder) {
          lengths[partition] += place.copyPartition(partition, buffer, data);
        }
        if (checksums.length > 0) {
          checksums[partition] = data.nextChecksum();
        }
        total += lengths[partition];
      }
      data.flush();
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
    for (Place place : places.values()) {
      place.run.close();
      arena.addScratch(-place.run.indexBytes());
    }
    places.clear();
  }

  /** The spill files of one commit; sets each spilled run's reader and where the commit begins in every run. */
  private static final class SpillFilesOfRuns implements AutoCloseable {
    private final Map<File, FileChannel> open = new HashMap<>();

    SpillFilesOfRuns(List<Place> places) throws IOException {
      long spilled = Math.max(1, places.stream().filter(place -> place.file != null).count());
      int bufferBytes = (int) Math.max(LEAST_READ_BYTES, Math.min(COPY_BYTES, ALL_READ_BYTES / spilled));
      for (Place place : places) {
        place.next = 0;
        place.spilled =
            place.file == null ? null : new SpilledRun(place.file, channel(place.file), place.fileStart,
                place.run.bytes(), bufferBytes);
      }
    }

    private FileChannel channel(File file) throws IOException {
      FileChannel known = open.get(file);
      if (known != null) {
        return known;
      }
      try {
        FileChannel fresh = FileChannel.open(file.toPath(), StandardOpenOption.READ);
        open.put(file, fresh);
        return fresh;
      } catch (IOException e) {
        close();
        throw new IOException("spill file " + file + " cannot be opened: " + e.getMessage(), e);
      }
    }

    @Override
    public void close() throws IOException {
      for (FileChannel file : open.values()) {
        file.close();
      }
    }
  }

  /** Reads a spilled run from its start to its end, some partitions at once where they are small. */
  private static final class SpilledRun {
    private final File file;
    private final FileChannel in;
    private final long fileStart;
    private final long bytes;
    private final byte[] buffer;
    /** What of the run is in the buffer. */
    private long bufferStart;
    private int buffered;

    SpilledRun(File file, FileChannel in, long fileStart, long bytes, int bufferBytes) {
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

  /** The data file of a commit, and Spark's checksum of each partition that is written to it. */
  private static final class DataFile extends OutputStream {
    private final File file;
    private final OutputStream out;
    /** Null when none is wanted. */
    private final Checksum checksum;

    DataFile(File file, Checksum checksum) throws IOException {
      this.file = file;
      this.checksum = checksum;
      try {
        this.out = new BufferedOutputStream(new FileOutputStream(file), COPY_BYTES);
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
}
