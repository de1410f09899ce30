package io.sluice.spark.store;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.storage.DiskBlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spill files of one map task, in Spark's local directories. A directory that is full or cannot be written
 * is left out for the rest of the task, until none is left. One task's thread only.
 */
public final class SpillFiles {
  private static final Logger LOG = LoggerFactory.getLogger(SpillFiles.class);
  /** Spark picks a directory by a random name's hash; so many names find every directory, almost surely. */
  private static final int NAMES_PER_DIRECTORY = 16;

  /** Writes a spill to a file: bytes written. */
  public interface Write {
    long to(File file);
  }

  private final DiskBlockManager disk;
  private final Counters counters;
  private final List<File> files = new ArrayList<>();
  private final Map<File, String> failedDirectories = new LinkedHashMap<>();
  private Exception lastFailure;

  public SpillFiles(DiskBlockManager disk, Counters counters) {
    this.disk = disk;
    this.counters = counters;
  }

  /**
   * Has {@code spill} write a new file.
   *
   * @return bytes written
   * @throws IOException when no local directory can take it; the message names each with its error
   */
  public long write(Write spill) throws IOException {
    File[] directories = disk.localDirs();
    for (int i = 0; i < directories.length * NAMES_PER_DIRECTORY; i++) {
      if (failedDirectories.size() == directories.length) {
        break;
      }
      File file = newFile(directories);
      if (file == null) {
        continue;
      }
      try {
        long bytes = spill.to(file);
        files.add(file);
        return bytes;
      } catch (NativeException e) {
        delete(file);
        if (e.reason() != NativeCore.DISK_FULL && e.reason() != NativeCore.IO) {
          throw e;
        }
        markFailed(directoryOf(file, directories), e);
      }
    }
    throw new IOException("no local directory can take a shuffle spill; each failed: " + failedDirectories
        + ". Free space there, or add directories to spark.local.dir", lastFailure);
  }

  /** A new file in a directory that has not failed, or null when Spark's pick was one that has. */
  private File newFile(File[] directories) {
    File file;
    try {
      file = disk.createTempShuffleBlock()._2();
    } catch (Exception e) {
      // Scala code throws IOException undeclared. Its message has the path of the directory that it could not make.
      lastFailure = e;
      String message = String.valueOf(e.getMessage());
      Arrays.stream(directories).filter(directory -> message.contains(directory.getPath())).findFirst()
          .ifPresent(directory -> markFailed(directory, e));
      return null;
    }
    if (failedDirectories.containsKey(directoryOf(file, directories))) {
      delete(file);
      return null;
    }
    return file;
  }

  private void markFailed(File directory, Exception cause) {
    lastFailure = cause;
    if (failedDirectories.put(directory, String.valueOf(cause.getMessage())) == null) {
      counters.increment(Counter.WRITE_DIRECTORY_RETRIES);
      LOG.warn("Shuffle spill to {} failed, trying another local directory: {}", directory, cause.getMessage());
    }
  }

  private static File directoryOf(File file, File[] directories) {
    return Arrays.stream(directories).filter(directory -> file.toPath().startsWith(directory.toPath()))
        .findFirst().orElse(file.getParentFile());
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
