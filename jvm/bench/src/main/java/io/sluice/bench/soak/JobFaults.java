package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Faults that the driver does to its own jobs: a file in the application's folder, where the driver runs, asks it to.
 * {@link JobWishes} is the driver's part.
 */
final class JobFaults {

  private static final long LOOK_MS = 5_000;
  private static final long POLL_MS = 20;

  /** What a driver can be asked for. */
  enum Wish {
    CANCEL_JOBS, CANCEL_STAGES, CANCEL_TWO_JOBS, KILL_TASKS, FORGET_OUTPUTS;

    /** The name of the file. */
    String file() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  private JobFaults() {}

  static boolean cancel(Target target, Dice dice) throws InterruptedException {
    return ask(target, Wish.CANCEL_JOBS);
  }

  static boolean cancelStages(Target target, Dice dice) throws InterruptedException {
    return ask(target, Wish.CANCEL_STAGES);
  }

  static boolean cancelTwo(Target target, Dice dice) throws InterruptedException {
    return ask(target, Wish.CANCEL_TWO_JOBS);
  }

  static boolean killTasks(Target target, Dice dice) throws InterruptedException {
    return ask(target, Wish.KILL_TASKS);
  }

  static boolean forgetOutputs(Target target, Dice dice) throws InterruptedException {
    return ask(target, Wish.FORGET_OUTPUTS);
  }

  /**
   * Returns true when the driver has begun to do it, false when for some seconds it had nothing to do it to.
   */
  private static boolean ask(Target target, Wish wish) throws InterruptedException {
    Path file = target.folder().resolve(wish.file());
    try {
      Files.createFile(file);
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LOOK_MS);
      while (Files.exists(file) && System.nanoTime() < end) {
        Thread.sleep(POLL_MS);
      }
      return Files.notExists(file);
    } catch (IOException e) {
      // The application has ended.
      return false;
    } finally {
      FileFaults.delete(file);
    }
  }
}
