package io.sluice.spark.store;

import io.sluice.nativebridge.MemoryFile;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One map output in a memory file, from before it is written until its shuffle is removed. See {@link OutputCache}. */
public final class CachedOutput {
  private static final Logger LOG = LoggerFactory.getLogger(CachedOutput.class);
  /**
   * The order in which outputs move to the disk: the oldest shuffle's first, because its readers are likeliest to be
   * done, and of one shuffle the oldest output first.
   */
  static final Comparator<CachedOutput> MOVED_FIRST =
      Comparator.<CachedOutput>comparingInt(output -> output.shuffleId).thenComparingLong(output -> output.number);

  private final int shuffleId;
  private final long mapId;
  private final long number;
  private final MemoryFile memory;
  /** What the cache has set aside for it, in bytes; guarded by the cache. */
  private long charge;
  private volatile boolean removed;
  /** The file that holds the bytes since they were moved. */
  private volatile File moved;

  /** @param number later outputs have greater ones */
  CachedOutput(int shuffleId, long mapId, long number, MemoryFile memory, long charge) {
    this.shuffleId = shuffleId;
    this.mapId = mapId;
    this.number = number;
    this.memory = memory;
    this.charge = charge;
  }

  int shuffleId() {
    return shuffleId;
  }

  long mapId() {
    return mapId;
  }

  long charge() {
    return charge;
  }

  void setCharge(long charge) {
    this.charge = charge;
  }

  /** Where the writer writes. */
  public File file() {
    return memory.path().toFile();
  }

  /** The output is complete: from now on its size cannot change, so processes that map the file can rely on it. */
  public void seal() {
    memory.seal();
  }

  /** Creates {@code link}, a symbolic link to the memory file, which Spark then renames to the data file. */
  public void linkFrom(File link) throws IOException {
    Files.createSymbolicLink(link.toPath(), memory.path());
  }

  /** Whether {@code dataFile} is a link to this output; false if another attempt committed its output first. */
  public boolean isAt(File dataFile) throws IOException {
    Path link = dataFile.toPath();
    return Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(memory.path());
  }

  /** Copies the bytes to a file, which the link's path opens from now on. Returns how many. */
  long moveTo(File file) {
    long count = memory.moveTo(file);
    moved = file;
    if (removed) {
      delete(file);
    }
    return count;
  }

  boolean isRemoved() {
    return removed;
  }

  void markRemoved() {
    removed = true;
  }

  /** Whether the bytes are on the disk, for tests. */
  boolean isMoved() {
    return moved != null;
  }

  /** Frees the memory, or deletes the file. No link to it may exist any more. Twice is fine. */
  void remove() {
    markRemoved();
    memory.close();
    if (moved != null) {
      delete(moved);
    }
  }

  private void delete(File file) {
    try {
      Files.deleteIfExists(file.toPath());
    } catch (IOException e) {
      LOG.warn("Could not delete {}, where {} was", file, this, e);
    }
  }

  @Override
  public String toString() {
    return "map output " + mapId + " of shuffle " + shuffleId;
  }
}
