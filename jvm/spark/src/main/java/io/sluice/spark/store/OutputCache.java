package io.sluice.spark.store;

import com.sun.management.UnixOperatingSystemMXBean;
import io.sluice.nativebridge.MemoryFile;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs that one executor keeps in memory, and the limit on them.
 *
 * <p>A writer asks for a place before it commits. If there is none, outputs of other tasks move to the disk first, the
 * oldest shuffle's first; the writer's thread does that. What still has no place is written to the disk at once, as
 * without a cache. An output that has moved keeps its descriptor, so a reader that was about to open it reads the same
 * bytes.
 *
 * <p>Any thread may call anything. No lock is held while bytes are moved.
 */
public final class OutputCache implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OutputCache.class);
  private static final long FEW_OUTPUTS = 256;
  private static final long PAGE_BYTES = 4096;
  /** What the kernel keeps of a file beside its pages, about. */
  private static final long FILE_BYTES = 1024;

  /** Where outputs move to. */
  interface Disk {
    /** Where Spark expects the output. */
    File dataFile(int shuffleId, long mapId);

    /**
     * Has {@code move} write a new file, in another directory when one is full.
     *
     * @throws IOException when no directory can take it; the message names each with its error
     */
    void write(Move move) throws IOException;
  }

  /** Writes a file and returns its bytes. */
  interface Move {
    long to(File file);
  }

  /** Where memory files come from. */
  public interface Memory {
    /** A new, empty file. */
    MemoryFile create(String name);
  }

  /**
   * Is told of outputs whose bytes have moved: the data file has the same path and bytes as before, but is another
   * file.
   */
  public interface Observer {
    void moved(int shuffleId, long mapId);
  }

  private final long limitBytes;
  private final long limitOutputs;
  private final Memory memory;
  private final Disk disk;
  private final Observer observer;
  private final Counters counters;
  /**
   * Committed outputs. An output that is not yet committed belongs to its writer: no other thread may close a file that
   * is being written.
   */
  private final TreeSet<CachedOutput> kept = new TreeSet<>(CachedOutput.MOVED_FIRST);
  /** Those in memory that may be moved. */
  private final TreeSet<CachedOutput> movable = new TreeSet<>(CachedOutput.MOVED_FIRST);
  /** Places and outputs that there are, in memory or moved. */
  private long descriptors;
  private long usedBytes;
  private long lastNumber;
  private boolean closed;

  /**
   * @param limitBytes of all outputs in memory together
   * @param limitOutputs how many there may be, in memory or moved: each holds a descriptor
   */
  OutputCache(
      long limitBytes, long limitOutputs, Memory memory, Disk disk, Observer observer, Counters counters) {
    this.limitBytes = limitBytes;
    this.limitOutputs = limitOutputs;
    this.memory = memory;
    this.disk = disk;
    this.observer = observer;
    this.counters = counters;
  }

  /**
   * The cache of this executor; empty, with a warning, when this system gives no memory files that can be opened by
   * path.
   *
   * @param memory {@code MemoryFile::create}, but for tests
   * @param observer is told of outputs that have moved, on the thread that has moved them
   */
  public static Optional<OutputCache> open(
      long limitBytes, Memory memory, IndexShuffleBlockResolver resolver, Observer observer, Counters counters) {
    String failure = selfTest(memory);
    if (!failure.isEmpty()) {
      LOG.warn(
          "spark.sluice.store=cache, but map output goes to files on this executor, because memory files cannot be used"
              + " here: {}",
          failure);
      counters.increment(Counter.CACHE_UNAVAILABLE);
      return Optional.empty();
    }
    SparkLocalDirs disk = new SparkLocalDirs(resolver, counters);
    return Optional.of(new OutputCache(limitBytes, mostOutputs(), memory, disk, observer, counters));
  }

  /** A quarter of the file descriptors that the process may have: Spark and other libraries need the rest. */
  private static long mostOutputs() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
        ? system.getMaxFileDescriptorCount() / 4
        : FEW_OUTPUTS;
  }

  /** Why there are no memory files that can be opened by path; empty when there are. */
  static String selfTest(Memory memory) {
    byte[] written = {1, 2, 3};
    try (MemoryFile file = memory.create("sluice-self-test")) {
      Files.write(file.path(), written);
      file.seal();
      return Arrays.equals(written, Files.readAllBytes(file.path())) ? "" : file.path() + " is another file";
    } catch (IOException | NativeException | LinkageError e) {
      return e.toString();
    }
  }

  /** What a file of so many bytes takes of the memory. */
  static long charge(long bytes) {
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES + FILE_BYTES;
  }

  /**
   * A place for an output that is about to be written, or null when it must go to the disk. It is the caller's until
   * {@link #keep} or {@link #discard}, one of which must follow.
   *
   * @param mostBytes that it may have
   */
  public CachedOutput place(int shuffleId, long mapId, long mostBytes) {
    long charge = charge(mostBytes);
    if (!makeRoom(charge)) {
      counters.increment(Counter.CACHE_REFUSALS);
      return null;
    }
    try {
      MemoryFile file = memory.create("sluice-shuffle_" + shuffleId + "_" + mapId);
      return new CachedOutput(shuffleId, mapId, nextNumber(), file, charge);
    } catch (NativeException e) {
      LOG.warn("Map output {} of shuffle {} goes to the disk, because there is no memory file for it: {}", mapId,
          shuffleId,
          e.getMessage());
      synchronized (this) {
        usedBytes -= charge;
        descriptors--;
      }
      counters.increment(Counter.CACHE_REFUSALS);
      return null;
    }
  }

  private synchronized long nextNumber() {
    return ++lastNumber;
  }

  /**
   * Takes {@code charge} of the limit and a descriptor, for which outputs move to the disk; false when that does not
   * help.
   */
  private boolean makeRoom(long charge) {
    while (true) {
      CachedOutput victim;
      synchronized (this) {
        if (closed || charge > limitBytes || descriptors >= limitOutputs) {
          return false;
        }
        if (usedBytes + charge <= limitBytes) {
          usedBytes += charge;
          descriptors++;
          return true;
        }
        victim = movable.pollFirst();
      }
      if (victim == null || !moveToDisk(victim)) {
        return false;
      }
    }
  }

  /**
   * An output has been committed with so many bytes: from now on it is the cache's and may be moved.
   *
   * @return whether it is; if not, because the cache has been closed, the caller must {@link #discard} it
   */
  public synchronized boolean keep(CachedOutput output, long bytes) {
    if (closed) {
      return false;
    }
    usedBytes += charge(bytes) - output.charge();
    output.setCharge(charge(bytes));
    kept.add(output);
    movable.add(output);
    counters.increment(Counter.CACHE_OUTPUTS);
    counters.add(Counter.CACHE_BYTES, bytes);
    return true;
  }

  /** An output was not committed: its task has failed, or another attempt committed first. Twice is fine. */
  public void discard(CachedOutput output) {
    unlink(output);
    synchronized (this) {
      if (!output.isRemoved()) {
        kept.remove(output);
        movable.remove(output);
        descriptors--;
        giveBack(output);
      }
      output.markRemoved();
    }
    output.remove();
  }

  /** A place could not be written; its output goes to the disk. */
  public void refuse(CachedOutput output) {
    counters.increment(Counter.CACHE_REFUSALS);
    discard(output);
  }

  /** Frees the committed outputs of a shuffle, after Spark's files of it have been deleted. */
  public void removeShuffle(int shuffleId) {
    List<CachedOutput> gone;
    synchronized (this) {
      gone = kept.stream().filter(output -> output.shuffleId() == shuffleId).toList();
    }
    gone.forEach(this::discard);
  }

  private boolean moveToDisk(CachedOutput output) {
    long bytes = output.file().length();
    try {
      disk.write(output::moveTo);
    } catch (IOException | NativeException e) {
      if (output.isRemoved()) {
        // The shuffle was removed meanwhile, and the output's memory freed.
        return true;
      }
      LOG.warn("A {} stays in memory, because it cannot be moved to the disk: {}", output, e.getMessage());
      counters.increment(Counter.CACHE_MOVE_FAILURES);
      putBack(output);
      return false;
    }
    giveBack(output);
    counters.increment(Counter.CACHE_MOVES);
    counters.add(Counter.CACHE_MOVED_BYTES, bytes);
    observer.moved(output.shuffleId(), output.mapId());
    return true;
  }

  /** Deletes the link, which would otherwise point to nothing, or to the next file that gets the same descriptor. */
  private void unlink(CachedOutput output) {
    try {
      File dataFile = disk.dataFile(output.shuffleId(), output.mapId());
      if (output.isAt(dataFile)) {
        Files.delete(dataFile.toPath());
      }
    } catch (Exception e) {
      // Scala code throws IOException undeclared.
      LOG.warn("Could not delete the link to a {}", output, e);
    }
  }

  private synchronized void giveBack(CachedOutput output) {
    usedBytes -= output.charge();
    output.setCharge(0);
  }

  private synchronized void putBack(CachedOutput output) {
    if (kept.contains(output)) {
      movable.add(output);
    }
  }

  /** Bytes set aside for outputs in memory. */
  public synchronized long usedBytes() {
    return usedBytes;
  }

  /** Frees what was committed; it cannot be read any more. Later outputs go to the disk. */
  @Override
  public void close() {
    List<CachedOutput> left;
    synchronized (this) {
      closed = true;
      left = List.copyOf(kept);
    }
    left.forEach(this::discard);
  }
}
