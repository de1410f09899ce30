package io.sluice.systemtests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * A Java home whose {@code java} has the limits that containers have by default, for executors: 64 KiB of locked
 * memory, without the capability that lifts this limit, and 64 MiB of shared memory, which somebody else has filled.
 * Needs root.
 */
final class ConfinedJava {
  private static final String CONFINE =
      "mount -t tmpfs -o size=64m sluice-system-tests /dev/shm"
          + " && head -c 64m /dev/zero > /dev/shm/full"
          + " && exec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock prlimit --memlock=65536 \"$@\"";

  private ConfinedJava() {}

  /**
   * The limits of a process.
   *
   * @param lockedBytes as {@code /proc/self/limits} says
   * @param capabilities as {@code /proc/self/status} says, in hexadecimal
   * @param sharedBytes size of {@code /dev/shm}
   * @param freeSharedBytes what is free of it
   */
  record Limits(String lockedBytes, String capabilities, long sharedBytes, long freeSharedBytes)
      implements
        java.io.Serializable {
    private static final int IPC_LOCK = 14;

    static Limits ofThisProcess() throws IOException {
      return new Limits(field("/proc/self/limits", "Max locked memory").split(" +")[0],
          field("/proc/self/status", "CapEff:"), Path.of("/dev/shm").toFile().getTotalSpace(),
          Path.of("/dev/shm").toFile().getUsableSpace());
    }

    private static String field(String file, String name) throws IOException {
      return Files.readAllLines(Path.of(file)).stream().filter(line -> line.startsWith(name)).findFirst()
          .orElseThrow().substring(name.length()).strip();
    }

    boolean mayLockMore() {
      return (Long.parseUnsignedLong(capabilities, 16) >> IPC_LOCK & 1) == 1;
    }
  }

  /** Whether this machine and this user can confine a process. */
  static boolean isPossible() throws IOException {
    List<String> command = new ArrayList<>(confine());
    command.add("true");
    return run(command);
  }

  /** Makes the Java home in {@code folder}, for {@code spark.executorEnv.JAVA_HOME}. */
  static Path install(Path folder) throws IOException {
    Path java = Files.createDirectories(folder.resolve("bin")).resolve("java");
    String real = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Files.writeString(java, "#!/bin/sh\nexec unshare --mount sh -c '" + CONFINE + "' sh '" + real + "' \"$@\"\n");
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    return folder;
  }

  private static List<String> confine() {
    return List.of("unshare", "--mount", "sh", "-c", CONFINE, "sh");
  }

  private static boolean run(List<String> command) throws IOException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    try {
      return process.waitFor() == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while running " + command, e);
    }
  }
}
