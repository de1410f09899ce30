package io.sluice.systemtests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A small file system in memory, mounted while it is open. */
final class SmallDisk implements AutoCloseable {
  private final Path path;

  private SmallDisk(Path path) {
    this.path = path;
  }

  /** Mounts one of that many mebibytes at {@code path}; null when this user may not mount. */
  static SmallDisk mount(Path path, int mib) throws IOException {
    Files.createDirectories(path);
    boolean mounted =
        run("mount", "-t", "tmpfs", "-o", "size=" + mib + "m", "sluice-system-tests", path.toString());
    return mounted ? new SmallDisk(path) : null;
  }

  Path path() {
    return path;
  }

  /** Files that exist can still be read. */
  void makeReadOnly() throws IOException {
    if (!run("mount", "-o", "remount,ro", path.toString())) {
      throw new IOException("cannot make " + path + " read-only");
    }
  }

  @Override
  public void close() throws IOException {
    run("umount", "-l", path.toString());
  }

  private static boolean run(String... command) throws IOException {
    Process process = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start();
    try {
      return process.waitFor() == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while running " + String.join(" ", command), e);
    }
  }
}
