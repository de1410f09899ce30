package io.sluice.spark.store;

import io.sluice.nativebridge.MemoryFile;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * One map output in a memory file, from the reservation of its memory until it is freed. Its {@link OutputState} and
 * what depends on the state are changed by {@link CachedOutputs} only, under that object's lock. Methods that the state
 * does not allow throw {@link IllegalStateException}.
 */
public final class CachedOutput {
  private final int shuffleId;
  private final long mapId;
  private final long number;
  private final MemoryFile memory;
  private volatile OutputState state = OutputState.WRITING;
  /** The bytes that count against the cache's limit for it; guarded by {@link CachedOutputs}. */
  private long charge;
  /** The bytes that count while it is in memory; guarded by {@link CachedOutputs}. */
  private long memoryCharge;
  /** The file that holds the bytes too, or alone; set by {@link CachedOutputs} when a move ends. */
  private volatile File diskFile;
  /** False after it could not be brought back; guarded by {@link CachedOutputs}. */
  private boolean mayComeBack = true;

  /** @param number increases with each reservation */
  CachedOutput(int shuffleId, long mapId, long number, MemoryFile memory, long charge) {
    this.shuffleId = shuffleId;
    this.mapId = mapId;
    this.number = number;
    this.memory = memory;
    this.charge = charge;
    this.memoryCharge = charge;
  }

  int shuffleId() {
    return shuffleId;
  }

  long mapId() {
    return mapId;
  }

  /** Larger than that of each output reserved before. */
  long number() {
    return number;
  }

  MemoryFile memory() {
    return memory;
  }

  OutputState state() {
    return state;
  }

  /** Changes the state; under the lock of {@link CachedOutputs}. */
  void become(OutputState next) {
    if (!state.successors().contains(next)) {
      throw new IllegalStateException("the " + this + " is " + state + " and cannot become " + next);
    }
    state = next;
  }

  /** Throws unless the state is the expected one. */
  void require(OutputState expected) {
    if (state != expected) {
      throw new IllegalStateException("the " + this + " is " + state + ", not " + expected);
    }
  }

  long charge() {
    return charge;
  }

  void setCharge(long charge) {
    this.charge = charge;
  }

  long memoryCharge() {
    return memoryCharge;
  }

  void setMemoryCharge(long memoryCharge) {
    this.memoryCharge = memoryCharge;
  }

  boolean mayComeBack() {
    return mayComeBack;
  }

  void staysOnDisk() {
    mayComeBack = false;
  }

  /**
   * The file that the bytes were moved to; null if they never were. It stays when they come back, so that moving them
   * again takes no copy.
   */
  File diskFile() {
    return diskFile;
  }

  void setDiskFile(File diskFile) {
    this.diskFile = diskFile;
  }

  /** The path of the memory file, to which the map task writes. */
  public File file() {
    return memory.path().toFile();
  }

  /** Fixes the size of the complete output, so that processes that map the file can rely on it. */
  public void seal() {
    require(OutputState.WRITING);
    memory.seal();
  }

  /** Creates {@code link}, a symbolic link to the memory file, which Spark then renames to the data file. */
  public void linkFrom(File link) throws IOException {
    require(OutputState.WRITING);
    Files.createSymbolicLink(link.toPath(), memory.path());
  }

  /** Whether {@code dataFile} is a link to this output; false if another attempt committed its output first. */
  public boolean isLinkedFrom(File dataFile) throws IOException {
    Path link = dataFile.toPath();
    return Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(memory.path());
  }

  @Override
  public String toString() {
    return "map output " + mapId + " of shuffle " + shuffleId;
  }
}
