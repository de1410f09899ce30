package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Looks for {@link Marker#TEXT} in the files of shuffles below a folder, again and again until it is closed, so also in
 * spill files, which live no longer than a map task, and in blocks that were fetched to the disk.
 */
final class MarkerWatch implements AutoCloseable {
  /** Of Spark's block transfer, which puts large requests' blocks into files, are those that begin with temp_local. */
  private static final String FILES = "(temp_)?shuffle_.*|temp_local_.*";
  private static final long PAUSE_NANOS = Duration.ofMillis(50).toNanos();

  private final Path folder;
  private final Set<String> with = ConcurrentHashMap.newKeySet();
  private final Set<String> without = ConcurrentHashMap.newKeySet();
  private final Thread thread = new Thread(this::lookUntilClosed, "marker-watch");
  private volatile boolean closed;
  private volatile RuntimeException failure;

  private MarkerWatch(Path folder) {
    this.folder = folder;
  }

  static MarkerWatch below(Path folder) {
    MarkerWatch watch = new MarkerWatch(folder);
    watch.thread.setDaemon(true);
    watch.thread.start();
    return watch;
  }

  private void lookUntilClosed() {
    try {
      boolean last;
      do {
        // What is there at the end is looked at, too.
        last = closed;
        look();
        LockSupport.parkNanos(PAUSE_NANOS);
      } while (!last);
    } catch (RuntimeException e) {
      failure = e;
    }
  }

  private void look() {
    for (Path file : ShuffleFiles.named(folder, FILES)) {
      try {
        // Data files of map outputs in memory are links.
        if (Files.isRegularFile(file) && Files.size(file) > 0) {
          (Marker.isIn(file) ? with : without).add(kind(file));
        }
      } catch (NoSuchFileException e) {
        // Deleted since it was listed.
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static String kind(Path file) {
    String name = file.getFileName().toString();
    if (name.startsWith("temp_local")) {
      return "download";
    }
    // Until it is committed a data file has a name with something behind that.
    return name.startsWith("temp_shuffle") ? "spill" : name.contains(".data") ? "data" : "other";
  }

  /**
   * Whether a file of this kind had the text at some time until now, or bytes and not the text: some live shorter than
   * it takes to look.
   */
  boolean hasSeen(String kind, boolean withText) {
    return (withText ? with : without).contains(kind);
  }

  /** Ends the watch. Which kinds of files (spill, data, download, other) had the text at some time. */
  Set<String> kindsWith() {
    close();
    return with;
  }

  /** Ends the watch. Which kinds of files had at some time bytes, and not the text. */
  Set<String> kindsWithout() {
    close();
    return without;
  }

  @Override
  public void close() {
    closed = true;
    try {
      thread.join(Duration.ofMinutes(1).toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (failure != null || thread.isAlive()) {
      throw new IllegalStateException("the files below " + folder + " were not all looked at", failure);
    }
  }
}
