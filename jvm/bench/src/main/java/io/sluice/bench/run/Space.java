package io.sluice.bench.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Whether a disk has room for files that are about to be written. */
public final class Space {

  private static final long MIB = 1024 * 1024;

  private Space() {}

  /**
   * Checks that {@code neededBytes} fit to where {@code folder} is or will be.
   *
   * @param what needs them, for people
   * @throws EngineFailure that says how much is needed and how much there is, if they do not fit
   */
  public static void check(String what, long neededBytes, Path folder) {
    Path there = folder.toAbsolutePath();
    while (!Files.exists(there)) {
      there = there.getParent();
    }
    try {
      check(what, neededBytes, folder, Files.getFileStore(there).getUsableSpace());
    } catch (IOException e) {
      throw new UncheckedIOException("the free space of " + folder + " cannot be told", e);
    }
  }

  static void check(String what, long neededBytes, Path folder, long freeBytes) {
    if (freeBytes < neededBytes) {
      throw new EngineFailure(String.format(Locale.ROOT, "%s need about %,d MiB, and %s has %,d MiB", what,
          neededBytes / MIB, folder, freeBytes / MIB));
    }
  }
}
