package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CgroupTest {
  private static final long MACHINE = 1L << 34;

  @TempDir Path root;

  private void file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
  }

  private Cgroup cgroup() {
    return Cgroup.ofThisProcess(root);
  }

  @Test
  void withoutGroupsThereAreNoLimits() {
    assertEquals(OptionalLong.empty(), cgroup().memoryBytes(MACHINE));
    assertEquals(OptionalInt.empty(), cgroup().cpuQuota());
  }

  @Test
  void version2InAContainerHasItsLimitsAtTheRoot() throws IOException {
    file("proc/self/cgroup", "0::/../../kubepods/pod1/c1");
    file("sys/fs/cgroup/memory.max", "1084227584");
    file("sys/fs/cgroup/cpu.max", "350000 100000");
    assertEquals(OptionalLong.of(1084227584), cgroup().memoryBytes(MACHINE));
    assertEquals(OptionalInt.of(3), cgroup().cpuQuota());
  }

  @Test
  void theSmallestLimitOfAllParentGroupsCounts() throws IOException {
    file("proc/self/cgroup", "0::/yarn/container_1");
    file("sys/fs/cgroup/yarn/container_1/memory.max", "max");
    file("sys/fs/cgroup/yarn/memory.max", "4000000000");
    file("sys/fs/cgroup/yarn/container_1/cpu.max", "max 100000");
    assertEquals(OptionalLong.of(4_000_000_000L), cgroup().memoryBytes(MACHINE));
    assertEquals(OptionalInt.empty(), cgroup().cpuQuota());
  }

  @Test
  void version1HasAHierarchyPerController() throws IOException {
    file("proc/self/cgroup", "5:memory:/yarn/c1\n4:cpu,cpuacct:/yarn/c1\n1:name=systemd:/");
    file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    file("sys/fs/cgroup/memory/yarn/c1/memory.limit_in_bytes", "1136656384");
    file("sys/fs/cgroup/cpu/yarn/c1/cpu.cfs_quota_us", "200000");
    file("sys/fs/cgroup/cpu/yarn/c1/cpu.cfs_period_us", "100000");
    assertEquals(OptionalLong.of(1136656384), cgroup().memoryBytes(MACHINE));
    assertEquals(OptionalInt.of(2), cgroup().cpuQuota());
  }

  @Test
  void theMachinesMemoryIsNotTheContainers() throws IOException {
    file("proc/meminfo", "MemTotal:       24635804 kB\nMemFree:         123 kB");
    assertEquals(24635804L * 1024, Cgroup.machineBytes(root));
    assertEquals(Long.MAX_VALUE, Cgroup.machineBytes(root.resolve("elsewhere")));
  }

  @Test
  void noQuotaOfVersion1IsMinusOne() throws IOException {
    file("proc/self/cgroup", "4:cpu:/");
    file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
    file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    assertEquals(OptionalInt.empty(), cgroup().cpuQuota());
  }
}
