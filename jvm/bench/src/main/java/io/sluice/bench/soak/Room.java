package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Namespaces of Linux that an application has for itself: a link, a disk for shuffles and spills, shared memory; and
 * calls of the system that {@link CallFaults} changes. What is done to them touches nothing else on the machine, and
 * they go with the application's last process. Root has no right to ignore the permissions of files in there.
 */
public final class Room {

  /** Folder of an application that is a disk of its own; where applications keep their blocks. */
  private static final String DISK = "local";
  private static final String LIBRARY = "calls.so";
  private static final String RIGHTS = "-dac_override,-dac_read_search";

  private static final String SCRIPT = "set -e\n"
      + "head -c " + CallFaults.BYTES + " /dev/zero >" + CallFaults.CONTROL + "\n"
      + "export LD_PRELOAD=$1 SOAK_CALLS=$PWD/" + CallFaults.CONTROL + "\n"
      + "shift\n"
      + "ip link set lo up\n"
      + "mount -t tmpfs -o size=256m,mode=1777 soak /dev/shm\n"
      + "mkdir -p local && mount -t tmpfs -o size=1g soak local\n"
      + "exec setpriv --inh-caps=" + RIGHTS + " --bounding-set=" + RIGHTS + " -- \"$@\"";

  private Room() {}

  /**
   * Prepares {@code folder} for rooms.
   *
   * @return what keeps this machine from having rooms; empty if nothing does
   */
  public static Optional<String> obstacle(Path folder) {
    try {
      Files.createDirectories(folder);
      CallFaults.build(folder.resolve(LIBRARY));
      Path application = Files.createTempDirectory(folder, "room");
      try {
        List<String> command = new ArrayList<>(command(folder));
        command.addAll(List.of("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1gbit", "burst", "256kb",
            "latency", "1ms"));
        Command.output(application, command);
        return Optional.empty();
      } finally {
        FileFaults.deleteAll(application);
      }
    } catch (IOException e) {
      return Optional.of(e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.of("interrupted");
    }
  }

  /**
   * What goes in front of a driver's command line, which is run in the application's folder, to start it in a room.
   *
   * @param folder prepared by {@link #obstacle}
   */
  public static List<String> command(Path folder) {
    return List.of("unshare", "--net", "--mount", "--propagation", "private", "--", "bash", "-c", SCRIPT, "room",
        folder.resolve(LIBRARY).toAbsolutePath().toString());
  }

  /** What goes in front of a command line to run it in the room of {@code target}. */
  static List<String> entry(Target target) {
    return List.of("nsenter", "--target", Long.toString(target.driver().pid()), "--net", "--");
  }

  /** {@code folder}, a path in the room of {@code driver}, as a path outside it. */
  static Path seenFromOutside(ProcessHandle driver, Path folder) {
    return Path.of("/proc", Long.toString(driver.pid()), "root").resolve(Path.of("/").relativize(folder));
  }

  static Path disk(Target target) {
    return target.folder().resolve(DISK);
  }

  static Path sharedMemory(Target target) {
    return seenFromOutside(target.driver(), Path.of("/dev/shm"));
  }
}
