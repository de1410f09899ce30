package io.sluice.bench.driver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * Removes finished jobs' shuffle files between runs, so that one run's files neither fill the disk nor are
 * written back while the other engine is timed.
 */
final class ShuffleFiles {

  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final String localDir;

  /** Files below {@code localDir}, the application's {@code spark.local.dir}; empty if it is unknown. */
  ShuffleFiles(String localDir) {
    this.localDir = localDir;
  }

  /**
   * Lets Spark's context cleaner, which acts on garbage collection of the driver, delete shuffles that no
   * query refers to any more. Waits until they are gone, or gives up after ten seconds.
   */
  void dropUnused() {
    System.gc();
    long deadline = System.nanoTime() + LIMIT_NANOS;
    while (!localDir.isEmpty() && anyLeft() && System.nanoTime() < deadline) {
      LockSupport.parkNanos(POLL_NANOS);
    }
  }

  private boolean anyLeft() {
    try (Stream<Path> files = Files.walk(Path.of(localDir))) {
      return files.anyMatch(file -> file.getFileName().toString().endsWith(".data"));
    } catch (IOException | UncheckedIOException e) {
      // Spark's cleaner may delete a folder during the walk.
      return true;
    }
  }
}
