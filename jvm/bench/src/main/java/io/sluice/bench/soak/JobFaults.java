package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;

/**
 * The fault that cancels jobs. The harness makes a file in the application's folder; the driver, which runs there,
 * looks for it while it runs a program, cancels all jobs and deletes it.
 */
final class JobFaults {

  static final String FILE = "cancel-jobs";

  private static final long LOOK_MS = 5_000;
  private static final long POLL_MS = 20;

  private JobFaults() {}

  /** Returns when the driver has done it, or when it has run no program for some seconds. */
  static void cancel(Target target, Dice dice) throws InterruptedException {
    Path file = target.folder().resolve(FILE);
    try {
      Files.createFile(file);
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LOOK_MS);
      while (Files.exists(file) && System.nanoTime() < end) {
        Thread.sleep(POLL_MS);
      }
    } catch (IOException e) {
      // The application has ended.
      return;
    } finally {
      FileFaults.delete(file);
    }
  }

  /** What looks for the file in the driver until it is closed. */
  interface Obeying extends AutoCloseable {
    @Override
    void close();
  }

  /** The driver's part: looks for the file in {@code folder}. */
  static Obeying obey(SparkContext context, Path folder) {
    Path file = folder.resolve(FILE);
    Thread thread = new Thread(() -> {
      try {
        while (true) {
          if (Files.deleteIfExists(file)) {
            context.cancelAllJobs();
          }
          Thread.sleep(POLL_MS);
        }
      } catch (InterruptedException | IOException | IllegalStateException e) {
        // The program has ended, or the application with its folder.
        return;
      }
    }, "soak-cancel");
    thread.setDaemon(true);
    thread.start();
    return () -> {
      thread.interrupt();
      try {
        // It must not cancel the next program's jobs.
        thread.join(LOOK_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    };
  }
}
