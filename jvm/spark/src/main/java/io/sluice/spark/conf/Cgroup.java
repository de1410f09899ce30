package io.sluice.spark.conf;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * The limits of a process's control groups, version 1 or 2. A group is bound by its ancestors too, so the smallest
 * limit on the way up counts. In a container the group's own path often does not exist, and the mount's root is the
 * group.
 */
final class Cgroup {
  private static final Path MOUNT = Path.of("sys", "fs", "cgroup");

  private final List<Path> memory;
  private final List<Path> cpu;

  private Cgroup(List<Path> memory, List<Path> cpu) {
    this.memory = memory;
    this.cpu = cpu;
  }

  /** @param root where {@code proc} and {@code sys} are: {@code /}, but in a test */
  static Cgroup ofThisProcess(Path root) {
    Path mount = root.resolve(MOUNT);
    List<Path> memory = new ArrayList<>(List.of(mount, mount.resolve("memory")));
    List<Path> cpu = new ArrayList<>(List.of(mount, mount.resolve("cpu")));
    for (String line : lines(root.resolve(Path.of("proc", "self", "cgroup")))) {
      // "hierarchy:controllers:path"; version 2 has no controllers.
      String[] parts = line.split(":", 3);
      if (parts.length == 3) {
        List<String> controllers = List.of(parts[1].split(","));
        if (parts[1].isEmpty() || controllers.contains("memory")) {
          addGroups(memory, parts[1].isEmpty() ? mount : mount.resolve("memory"), parts[2]);
        }
        if (parts[1].isEmpty() || controllers.contains("cpu")) {
          addGroups(cpu, parts[1].isEmpty() ? mount : mount.resolve("cpu"), parts[2]);
        }
      }
    }
    return new Cgroup(memory, cpu);
  }

  /**
   * The machine's memory, of which the process may be granted less: the JVM's own answer in a container is the grant.
   */
  static long machineBytes(Path root) {
    return lines(root.resolve(Path.of("proc", "meminfo"))).stream().filter(line -> line.startsWith("MemTotal:"))
        .map(line -> number(line.replaceAll("\\D", ""))).flatMap(Optional::stream).findFirst()
        .map(kib -> kib * 1024).orElse(Long.MAX_VALUE);
  }

  private static void addGroups(List<Path> groups, Path mount, String path) {
    Path group = mount;
    for (Path name : Path.of(path.substring(Math.min(1, path.length())))) {
      group = group.resolve(name);
      groups.add(group);
    }
  }

  /** The memory limit; empty when there is none below {@code machineBytes}. */
  OptionalLong memoryBytes(long machineBytes) {
    return memory.stream()
        .flatMap(group -> Stream.of(group.resolve("memory.max"), group.resolve("memory.limit_in_bytes")))
        .flatMap(file -> lines(file).stream().limit(1)).map(Cgroup::number).flatMap(Optional::stream)
        .filter(limit -> limit > 0 && limit < machineBytes).mapToLong(Long::longValue).min();
  }

  /** How many whole processors the process may use on average; empty when nothing bounds them. */
  OptionalInt cpuQuota() {
    return cpu.stream().flatMap(group -> quota(group).stream()).mapToInt(Integer::intValue).min();
  }

  private static Optional<Integer> quota(Path group) {
    String first = lines(group.resolve("cpu.max")).stream().findFirst().orElse("");
    String[] parts = first.isEmpty()
        ? new String[] {firstLine(group.resolve("cpu.cfs_quota_us")), firstLine(group.resolve("cpu.cfs_period_us"))}
        : first.trim().split("\\s+");
    Optional<Long> quota = number(parts[0]);
    Optional<Long> period = parts.length > 1 ? number(parts[1]) : Optional.empty();
    return quota.isPresent() && period.isPresent() && quota.get() > 0 && period.get() > 0
        ? Optional.of((int) (quota.get() / period.get())) : Optional.empty();
  }

  private static String firstLine(Path file) {
    return lines(file).stream().findFirst().orElse("");
  }

  private static Optional<Long> number(String text) {
    try {
      return Optional.of(Long.parseLong(text.trim()));
    } catch (NumberFormatException e) {
      // "max", or a file that is not there.
      return Optional.empty();
    }
  }

  private static List<String> lines(Path file) {
    try {
      return Files.isReadable(file) && Files.isRegularFile(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      // Without the file there is no limit to see.
      return List.of();
    }
  }
}
