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
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs that one executor keeps in memory, within a limit ({@code spark.sluice.cache.hostLimit}).
 *
 * <p>A map task reserves memory before it commits. If there is not enough, its thread first moves outputs of other
 * tasks to the disk, those that are cheapest to have there ({@link MoveOrder}). If that does not free enough either,
 * the task writes its output to the disk, as without a cache. An output that has been moved keeps its descriptor, so a
 * reader that was about to open it reads the same bytes.
 *
 * <p>Outputs of shuffles that are read again and again come back to memory when there is room, and what is above a
 * limit that was lowered moves to the disk: one thread of the cache's own does that, one output at a time. Readers wait
 * for none of it.
 *
 * <p>This class does the I/O; {@link CachedOutputs} keeps the states and decides which thread does it. Any thread may
 * call any method, and none holds a lock during I/O.
 */
public final class OutputCache implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OutputCache.class);
  /** The limit on outputs where the process's limit on file descriptors is unknown. */
  private static final long DEFAULT_MAX_OUTPUTS = 256;
  private static final long PAGE_BYTES = 4096;
  /** An estimate of the kernel's own memory for a memory file, beside its pages. */
  private static final long INODE_BYTES = 1024;
  private static final long IDLE_SECONDS = 30;
  private static final long CLOSE_SECONDS = 10;

  private final CachedOutputs outputs;
  private final MemoryFiles memoryFiles;
  private final OutputDisk disk;
  private final MoveListener listener;
  private final Counters counters;
  /** One thread, and one look at what there is to copy that waits for it: it finds what came meanwhile. */
  private final ThreadPoolExecutor copier;

  /**
   * @param limitBytes of all outputs in memory together
   * @param limitOutputs of outputs in memory and moved ones together: each holds a descriptor
   */
  OutputCache(long limitBytes, long limitOutputs, MemoryFiles memoryFiles, OutputDisk disk, MoveListener listener,
      Counters counters) {
    this.outputs = new CachedOutputs(limitBytes, limitOutputs);
    this.memoryFiles = memoryFiles;
    this.disk = disk;
    this.listener = listener;
    this.counters = counters;
    this.copier = new ThreadPoolExecutor(1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new ArrayBlockingQueue<>(1), work -> {
      Thread thread = new Thread(work, "sluice-cache");
      thread.setDaemon(true);
      return thread;
    }, new ThreadPoolExecutor.DiscardPolicy());
    copier.allowCoreThreadTimeOut(true);
  }

  /**
   * The cache of this executor; empty, with a warning, if memory files cannot be created or opened by path here.
   *
   * @param memoryFiles {@code MemoryFile::create}, except in tests
   */
  public static Optional<OutputCache> open(long limitBytes, MemoryFiles memoryFiles,
      IndexShuffleBlockResolver resolver, MoveListener listener, Counters counters) {
    String failure = MemoryFiles.selfTest(memoryFiles);
    if (!failure.isEmpty()) {
      LOG.warn(
          "spark.sluice.store=cache, but map output goes to files on this executor, because memory files cannot be used"
              + " here: {}",
          failure);
      counters.increment(Counter.CACHE_UNAVAILABLE);
      return Optional.empty();
    }
    SparkLocalDirs disk = new SparkLocalDirs(resolver, counters);
    return Optional.of(new OutputCache(limitBytes, maxOutputs(), memoryFiles, disk, listener, counters));
  }

  /** A quarter of the file descriptors that the process may have: Spark and other libraries need the rest. */
  private static long maxOutputs() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
        ? system.getMaxFileDescriptorCount() / 4
        : DEFAULT_MAX_OUTPUTS;
  }

  /** The memory that a memory file of so many bytes takes: whole pages and the kernel's inode. */
  static long charge(long bytes) {
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES + INODE_BYTES;
  }

  /**
   * Reserves memory for an output that is about to be written. The caller must end the reservation with {@link
   * #commit}, {@link #abandon} or {@link #writeFailed}.
   *
   * @param maxBytes upper bound of the output's size
   * @return null if the output must be written to the disk
   */
  public CachedOutput reserve(int shuffleId, long mapId, long maxBytes) {
    long charge = charge(maxBytes);
    if (!makeRoom(shuffleId, charge)) {
      counters.increment(Counter.CACHE_REFUSALS);
      if (outputs.usedBytes() > outputs.limitBytes()) {
        copier.execute(this::copyAll);
      }
      return null;
    }
    try {
      MemoryFile file = memoryFiles.create("sluice-shuffle_" + shuffleId + "_" + mapId);
      return new CachedOutput(shuffleId, mapId, outputs.nextNumber(), file, charge);
    } catch (NativeException e) {
      LOG.warn("Map output {} of shuffle {} goes to the disk, because no memory file could be created for it: {}",
          mapId, shuffleId, e.getMessage());
      outputs.cancelReservation(charge);
      counters.increment(Counter.CACHE_REFUSALS);
      return null;
    }
  }

  /** Reserves {@code charge} bytes, for which this thread moves outputs to the disk; false if that is not enough. */
  private boolean makeRoom(int shuffleId, long charge) {
    CachedOutputs.Room room = outputs.reserve(shuffleId, charge);
    while (room.toMove() != null && moveToDisk(room.toMove())) {
      room = outputs.reserve(shuffleId, charge);
    }
    return room.granted();
  }

  /**
   * The output has been written with so many bytes and Spark's data file links to it. From now on it may be moved, and
   * the cache frees it with its shuffle.
   *
   * @return false if the cache has been closed or the shuffle removed: the caller must {@link #abandon} the output
   * @throws IllegalStateException if the output is not being written
   */
  public boolean commit(CachedOutput output, long bytes) {
    if (!outputs.commit(output, charge(bytes))) {
      return false;
    }
    counters.increment(Counter.CACHE_OUTPUTS);
    counters.add(Counter.CACHE_BYTES, bytes);
    return true;
  }

  /**
   * Frees an output that is not committed, because its task failed or another attempt committed first.
   *
   * @throws IllegalStateException if the output is not being written
   */
  public void abandon(CachedOutput output) {
    outputs.abandon(output);
    free(output);
  }

  /** As {@link #abandon}, for an output that could not be written to memory and goes to the disk: it is counted. */
  public void writeFailed(CachedOutput output) {
    abandon(output);
    counters.increment(Counter.CACHE_REFUSALS);
  }

  /**
   * Frees the committed outputs of a shuffle, after Spark's files of it have been deleted; later ones go to the disk.
   */
  public void removeShuffle(int shuffleId) {
    outputs.removeShuffle(shuffleId).forEach(this::free);
  }

  /**
   * Frees some committed outputs of a shuffle, after Spark's files of them have been deleted; the shuffle may get
   * others.
   */
  public void removeOutputs(int shuffleId, Collection<Long> mapIds) {
    outputs.removeOutputs(shuffleId, mapIds).forEach(this::free);
  }

  /**
   * A task of {@code stage} is about to read a shuffle. Never waits: what is to be copied because of it is copied by
   * another thread.
   *
   * @param stage identifies an attempt of a stage
   */
  public void read(int shuffleId, long stage) {
    if (outputs.read(shuffleId, stage)) {
      copier.execute(this::copyAll);
    }
  }

  /** Changes the limit of all outputs in memory together. What is above it moves to the disk, soon after. */
  public void setLimitBytes(long bytes) {
    outputs.setLimitBytes(bytes);
    copier.execute(this::copyAll);
  }

  public long limitBytes() {
    return outputs.limitBytes();
  }

  /** Until nothing is left to copy, or a copy has failed: then at the next occasion. */
  private void copyAll() {
    try {
      CachedOutputs.Copy next = outputs.nextCopy();
      while (next != null && (next.toDisk() ? moveToDisk(next.output()) : bringBack(next.output()))) {
        next = outputs.nextCopy();
      }
    } catch (RuntimeException | LinkageError e) {
      // Spark ends an executor in which a thread ends by an exception.
      LOG.warn("Map outputs stay where they are, in memory or on the disk, for the time being", e);
    }
  }

  /** Copies the bytes of an output in state {@link OutputState#RETURNING} to memory; false if that failed. */
  private boolean bringBack(CachedOutput output) {
    long bytes;
    try {
      bytes = disk.read(output.memory()::comeBack);
    } catch (RuntimeException | Error e) {
      // Whatever failed, the state must not remain RETURNING.
      if (outputs.notReturned(output)) {
        free(output);
      }
      if (e instanceof Error error) {
        throw error;
      }
      LOG.warn("A {} stays on the disk, because it cannot be brought back to memory: {}", output, e.getMessage());
      counters.increment(Counter.CACHE_RETURN_FAILURES);
      return false;
    }
    counters.increment(Counter.CACHE_RETURNS);
    counters.add(Counter.CACHE_RETURNED_BYTES, bytes);
    if (outputs.returned(output)) {
      free(output);
    } else {
      listener.moved(output.shuffleId(), output.mapId(), true);
    }
    return true;
  }

  /**
   * Copies the bytes of an output in state {@link OutputState#MOVING} to the disk, unless they are there already; false
   * if that failed.
   */
  private boolean moveToDisk(CachedOutput output) {
    long bytes = output.file().length();
    boolean removed;
    try {
      removed = outputs.moved(output, movedAgain(output) ? output.diskFile() : disk.write(output.memory()::moveTo));
    } catch (IOException | RuntimeException | Error e) {
      // Whatever failed, the state must not remain MOVING.
      boolean wasRemoved = outputs.notMoved(output);
      if (wasRemoved) {
        free(output);
      }
      if (e instanceof Error error) {
        throw error;
      }
      if (wasRemoved) {
        return true;
      }
      LOG.warn("A {} stays in memory, because it cannot be moved to the disk: {}", output, e.getMessage());
      counters.increment(Counter.CACHE_MOVE_FAILURES);
      return false;
    }
    counters.increment(Counter.CACHE_MOVES);
    counters.add(Counter.CACHE_MOVED_BYTES, bytes);
    if (removed) {
      free(output);
    } else {
      listener.moved(output.shuffleId(), output.mapId(), false);
    }
    return true;
  }

  /** Whether the output has taken its place on the disk by the copy that an earlier move has made. */
  private boolean movedAgain(CachedOutput output) {
    File copy = output.diskFile();
    if (copy == null) {
      return false;
    }
    try {
      output.memory().moveAgain(copy);
      counters.increment(Counter.CACHE_MOVES_WITHOUT_COPY);
      return true;
    } catch (NativeException e) {
      LOG.warn("The copy of a {} on the disk is of no use any more and is made again: {}", output, e.getMessage());
      outputs.lostCopy(output);
      delete(output, copy);
      return false;
    }
  }

  /**
   * Deletes the link and the file of an output that has just become {@link OutputState#REMOVED}, and closes its
   * descriptor. The link goes first: afterwards another file may get the same descriptor number.
   */
  private void free(CachedOutput output) {
    deleteLink(output);
    try {
      output.memory().close();
    } catch (RuntimeException e) {
      LOG.warn("The memory of a {} could not be freed", output, e);
    }
    if (output.diskFile() != null) {
      delete(output, output.diskFile());
    }
    outputs.freed(output);
  }

  private static void delete(CachedOutput output, File copy) {
    try {
      Files.deleteIfExists(copy.toPath());
    } catch (IOException e) {
      LOG.warn("Could not delete {}, to which a {} was moved", copy, output, e);
    }
  }

  private void deleteLink(CachedOutput output) {
    try {
      File dataFile = disk.dataFile(output.shuffleId(), output.mapId());
      if (output.isLinkedFrom(dataFile)) {
        Files.delete(dataFile.toPath());
      }
    } catch (Exception e) {
      // Scala code throws IOException undeclared.
      LOG.warn("Could not delete the link to a {}", output, e);
    }
  }

  /** Bytes reserved for outputs, or held by them, in memory. */
  public long usedBytes() {
    return outputs.usedBytes();
  }

  /**
   * Frees the committed outputs, which cannot be read any more. Later outputs go to the disk. Waits for a copy that is
   * under way, but not for long. Twice is fine.
   */
  @Override
  public void close() {
    outputs.close().forEach(this::free);
    copier.shutdown();
    try {
      if (!copier.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("A map output is still being copied to or from the disk");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
