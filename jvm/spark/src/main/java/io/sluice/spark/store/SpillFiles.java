package io.sluice.spark.store;

import io.sluice.nativebridge.NativeException;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.storage.DiskBlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spill files of one map task, in Spark's local directories: one directory after the other, from a random one on.
 * A directory that is full or cannot be written is not used again by the task; when all have failed, the spill fails.
 * Used by one task's thread only.
 *
 * <p>The directory is chosen here and not by {@code DiskBlockManager.createTempShuffleBlock}, which decides by a
 * random name's hash and throws where that directory cannot be written. Names are Spark's, so Spark's clean-up after an
 * executor deletes the files. Sub-directories are made by Spark, because map outputs will lie in them too: with {@code
 * spark.shuffle.service.removeShuffle} they are writable by the group, so that the shuffle service can delete outputs,
 * and Spark sets that only when it makes the sub-directory itself ({@code DiskBlockManager.getFile}). The spill files
 * are read by this process only and get the process's usual permissions.
 */
public final class SpillFiles {
  private static final Logger LOG = LoggerFactory.getLogger(SpillFiles.class);
  private static final String NAME_PREFIX = "temp_shuffle_";

  /** Writes a spill to a file: bytes written. */
  public interface Write {
    long to(File file) throws IOException;
  }

  private final DiskBlockManager disk;
  private final File[] directories;
  private final Counters counters;
  private final List<File> files = new ArrayList<>();
  private final Map<File, String> failedDirectories = new LinkedHashMap<>();
  private Exception lastFailure;
  private int next;

  public SpillFiles(DiskBlockManager disk, Counters counters) {
    this.disk = disk;
    this.directories = disk.localDirs();
    this.counters = counters;
    this.next = ThreadLocalRandom.current().nextInt(directories.length);
  }

  /**
   * Has {@code spill} write a new file.
   *
   * @return bytes written
   * @throws IOException when no local directory can take it; the message names each with its error
   */
  public long write(Write spill) throws IOException {
    for (int tries = 0; tries < directories.length; tries++) {
      int index = next;
      File directory = directories[index];
      next = (next + 1) % directories.length;
      if (failedDirectories.containsKey(directory)) {
        continue;
      }
      try {
        return writeTo(newFile(index), spill);
      } catch (IOException e) {
        markFailed(directory, e);
      } catch (NativeException e) {
        if (!e.isDirectoryFailure()) {
          throw e;
        }
        markFailed(directory, e);
      }
    }
    throw new IOException("no local directory can take a shuffle spill; each failed: " + failedDirectories
        + ". Free space there, or add directories to spark.local.dir", lastFailure);
  }

  /** Keeps the file if it could be written, and deletes it otherwise, whatever the failure. */
  private long writeTo(File file, Write spill) throws IOException {
    boolean written = false;
    try {
      long bytes = spill.to(file);
      written = files.add(file);
      return bytes;
    } finally {
      if (!written) {
        delete(file);
      }
    }
  }

  /**
   * A name for a new file in one of the directory's sub-directories, which Spark makes if it is not there. Spark finds
   * directory and sub-directory by the name's hash, so names are drawn until one falls into the wanted directory.
   */
  private File newFile(int index) throws IOException {
    String name;
    do {
      name = NAME_PREFIX + UUID.randomUUID();
    } while (JavaUtils.nonNegativeHash(name) % directories.length != index);
    File file = disk.getFile(name);
    if (!file.toPath().startsWith(directories[index].toPath())) {
      throw new IOException("Spark put " + file + " into another local directory than " + directories[index]);
    }
    return file;
  }

  private void markFailed(File directory, Exception cause) {
    lastFailure = cause;
    failedDirectories.put(directory, String.valueOf(cause.getMessage()));
    counters.increment(Counter.WRITE_DIRECTORY_RETRIES);
    LOG.warn("Shuffle spill to {} failed, trying another local directory: {}", directory, cause.getMessage());
  }

  /** Deletes all files of the task. */
  public void deleteAll() {
    files.forEach(SpillFiles::delete);
    files.clear();
  }

  private static void delete(File file) {
    if (file.exists() && !file.delete()) {
      LOG.warn("Could not delete spill file {}", file);
    }
  }
}
