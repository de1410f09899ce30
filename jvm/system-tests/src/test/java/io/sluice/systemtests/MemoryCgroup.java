package io.sluice.systemtests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Optional;

/**
 * A control group with a memory limit, below this process's own, and a Java home whose {@code java} runs in it: for
 * executors in a container of the size that a cluster manager would give them. A process that needs more is killed by
 * the kernel. Needs root and a memory controller, version 1 or 2.
 */
final class MemoryCgroup implements AutoCloseable {
  private static final Path MOUNT = Path.of("/sys/fs/cgroup");

  private final Path group;

  private MemoryCgroup(Path group) {
    this.group = group;
  }

  /** Empty where this machine has no memory control groups or this user may not create them. */
  static Optional<MemoryCgroup> create(long limitBytes) {
    try {
      boolean second = Files.exists(MOUNT.resolve("cgroup.controllers"));
      // In version 2 only groups without processes have children with controllers: the root is always such a group.
      Path parent = second ? MOUNT : MOUNT.resolve("memory").resolve(own());
      Path group = Files.createDirectory(parent.resolve("sluice-system-tests-" + ProcessHandle.current().pid()));
      Files.writeString(group.resolve(second ? "memory.max" : "memory.limit_in_bytes"), Long.toString(limitBytes));
      return Optional.of(new MemoryCgroup(group));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** This process's group in the hierarchy of version 1. */
  private static Path own() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/cgroup")).stream().map(line -> line.split(":", 3))
        .filter(parts -> parts[1].equals("memory")).map(parts -> Path.of(parts[2].substring(1))).findFirst()
        .orElseThrow(() -> new IOException("no memory controller"));
  }

  /** Makes the Java home in {@code folder}, for {@code spark.executorEnv.JAVA_HOME}; with the JVM's own defaults. */
  Path installJava(Path folder) throws IOException {
    Path java = Files.createDirectories(folder.resolve("bin")).resolve("java");
    String real = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Files.writeString(java,
        "#!/bin/sh\nunset JDK_JAVA_OPTIONS\necho $$ > '" + group.resolve("cgroup.procs") + "' && exec '"
            + real + "' \"$@\"\n");
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    return folder;
  }

  @Override
  public void close() throws IOException {
    Await.until(Duration.ofSeconds(30), () -> "processes in " + group, this::isEmpty);
    Files.delete(group);
  }

  private boolean isEmpty() {
    try {
      return Files.readString(group.resolve("cgroup.procs")).isBlank();
    } catch (IOException e) {
      return true;
    }
  }
}
