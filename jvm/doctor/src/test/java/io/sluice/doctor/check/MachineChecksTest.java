package io.sluice.doctor.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.host.FakeHost;
import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.MemoryTrial;
import io.sluice.doctor.host.Text;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The checks of the machine itself, on machines made of files. */
class MachineChecksTest {
  @TempDir private Path root;
  private FakeHost host;

  @BeforeEach
  void makeHost() {
    host = FakeHost.ordinary(root);
  }

  @Test
  void ordinaryMachineHasNoWarnings() {
    for (Check check : List.of(new PlatformCheck(), new JavaCheck(), new LibcCheck(), new ProcessorCheck(),
        new MemoryCheck(0),
        new LimitsCheck(), new ContainerCheck(), new NativeLibraryCheck(), new LocalDirsCheck(List.of("/tmp")),
        new SharedMemoryCheck(), new CrossMemoryCheck(), new InterfacesCheck(), new TcpCheck())) {
      for (Finding finding : check.look(host)) {
        assertEquals(Verdict.OK, finding.verdict(), finding::toString);
      }
    }
  }

  @Test
  void processorNamesTheInnerLoopsThatItRuns() {
    assertTrue(text(new ProcessorCheck()).endsWith("2 cores; inner loops for avx512"), text(new ProcessorCheck()));
    host.with("/proc/cpuinfo", "flags : cx16 popcnt sse4_1 sse4_2 ssse3 avx2 bmi1 bmi2 abm avx512f\n");
    assertTrue(text(new ProcessorCheck()).endsWith("inner loops for avx2"));
    host.with("/proc/cpuinfo", "flags : cx16 popcnt sse4_1 sse4_2 ssse3\n");
    assertVerdict(Verdict.WARNING, new ProcessorCheck(), "no AVX2");
    host.with("/proc/cpuinfo", "flags : sse2\n");
    assertVerdict(Verdict.PROBLEM, new ProcessorCheck(), "x86-64-v2");
  }

  @Test
  void otherPlatformsAreNotSupported() {
    host.property("os.arch", "ppc64le");
    assertVerdict(Verdict.PROBLEM, new PlatformCheck(), "ppc64le");
  }

  @Test
  void muslIsAProblem() {
    host.with("/proc/self/maps", "7f00-7f01 r-xp 0 0:0 0 /lib/ld-musl-x86_64.so.1\n");
    assertVerdict(Verdict.PROBLEM, new LibcCheck(), "musl");
  }

  @Test
  void memoryLimitOfAContainerIsShown() {
    host.with("/sys/fs/cgroup/memory.max", "4294967296\n");
    assertTrue(text(new MemoryCheck(0)).startsWith("16 GiB, 8 GiB available; this control group may use 4 GiB"));
    host.with("/sys/fs/cgroup/memory.max", "max\n");
    assertTrue(text(new MemoryCheck(0)).startsWith("16 GiB, 8 GiB available"));
  }

  @Test
  void aPodsLimitMustHoldMoreThanTheExecutorsHeap() {
    host.with("/sys/fs/cgroup/memory.max", "4294967296\n").environment("SPARK_EXECUTOR_MEMORY", "3072m");
    Finding enough = new MemoryCheck(0).look(host).get(0);
    assertEquals(Verdict.OK, enough.verdict(), enough::toString);
    assertTrue(enough.text().endsWith("may use 4 GiB, of which the executor's heap is 3 GiB"), enough.text());
    host.environment("SPARK_EXECUTOR_MEMORY", "3900m");
    Finding tooLittle = new MemoryCheck(0).look(host).get(0);
    assertEquals(Verdict.WARNING, tooLittle.verdict(), tooLittle::toString);
    assertTrue(tooLittle.text().contains("196 MiB is left"), tooLittle.text());
    assertTrue(tooLittle.next().contains("spark.executor.memoryOverhead"), tooLittle.next());
    host.environment("SPARK_EXECUTOR_MEMORY", "5g");
    assertTrue(new MemoryCheck(0).look(host).get(0).text().contains("nothing is left"));
    host.environment("SPARK_EXECUTOR_MEMORY", "much");
    assertEquals(Verdict.OK, new MemoryCheck(0).look(host).get(0).verdict());
  }

  @Test
  void aPodsLimitMustHoldWhatSettingsGiveSluice() {
    host.with("/sys/fs/cgroup/memory.max", Long.toString(9 * Amount.GIB)).environment("SPARK_EXECUTOR_MEMORY", "8g");
    assertEquals(Verdict.OK, new MemoryCheck(512 * Amount.MIB).look(host).get(0).verdict());
    Finding tooLittle = new MemoryCheck(Amount.GIB).look(host).get(0);
    assertEquals(Verdict.WARNING, tooLittle.verdict(), tooLittle::toString);
    assertTrue(tooLittle.text().contains("and the settings give Sluice 1 GiB: 1 GiB is left"), tooLittle.text());
    assertTrue(tooLittle.next().contains("at least 1.4 GiB"), tooLittle.next());
  }

  @Test
  void switchedOffHugePagesAreAWarning() {
    host.with("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    Finding finding = new MemoryCheck(0).look(host).get(1);
    assertEquals(Verdict.WARNING, finding.verdict());
    assertTrue(finding.next().contains("echo madvise"));
  }

  @Test
  void lowMemlockMattersOnlyWithRdma() {
    host.limits("65536", "1024");
    List<Finding> without = new LimitsCheck().look(host);
    assertEquals(List.of(Verdict.WARNING, Verdict.NOTE), without.stream().map(Finding::verdict).toList());
    assertTrue(without.get(1).text().startsWith("at most 64 KiB"), without.get(1).text());
    host.folder("/sys/class/infiniband/mlx5_0");
    Finding with = new LimitsCheck().look(host).get(1);
    assertEquals(Verdict.WARNING, with.verdict());
    assertTrue(with.next().contains("--ulimit memlock=-1"));
    host.with("/proc/self/status", "CapEff:\t0000000000004000\nSeccomp:\t0\n");
    assertEquals(Verdict.OK, new LimitsCheck().look(host).get(1).verdict());
  }

  @Test
  void olderJavaOfSparkIsAProblem() {
    host.environment("JAVA_HOME", "/opt/jdk");
    assertEquals(Verdict.NOTE, new JavaCheck().look(host).get(1).verdict());
    host.with("/opt/jdk/release", "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"1.7.0_80\"\n");
    assertEquals("JAVA_HOME is /opt/jdk, Java 7.0_80: Sluice needs 8 or later",
        new JavaCheck().look(host).get(1).text());
    host.with("/opt/jdk/release", "JAVA_VERSION=\"1.8.0_402\"\n");
    assertEquals(Verdict.OK, new JavaCheck().look(host).get(1).verdict());
    host.environment("JAVA_HOME", "/usr/lib/jvm/17");
    assertEquals(1, new JavaCheck().look(host).size());
  }

  @Test
  void smallSharedMemoryOfAContainerIsAWarning() {
    host.space("/dev/shm", 64L << 20, 64L << 20);
    assertVerdict(Verdict.WARNING, new SharedMemoryCheck(), "/dev/shm has 64 MiB, 64 MiB free");
    host.space("/dev/shm", 8L << 30, 1L << 20);
    assertVerdict(Verdict.WARNING, new SharedMemoryCheck(), "too little for UCX");
  }

  @Test
  void ptraceScopeOneIsFineForUcx() {
    host.with("/proc/sys/kernel/yama/ptrace_scope", "1\n");
    assertVerdict(Verdict.OK, new CrossMemoryCheck(), "ptrace_scope 1 (UCX asks for the permission itself)");
  }

  @Test
  void ptraceScopeTwoNeedsTheCapability() {
    host.with("/proc/sys/kernel/yama/ptrace_scope", "2\n");
    assertVerdict(Verdict.WARNING, new CrossMemoryCheck(), "may not read each other");
    host.with("/proc/self/status", "CapEff:\t0000000000080000\nSeccomp:\t2\n");
    assertVerdict(Verdict.OK, new CrossMemoryCheck(), "has CAP_SYS_PTRACE; a seccomp filter is on");
    host.with("/proc/sys/kernel/yama/ptrace_scope", "3\n");
    assertVerdict(Verdict.WARNING, new CrossMemoryCheck(), "ptrace_scope 3");
  }

  @Test
  void aFailedTrialWinsOverSettings() {
    host.trial(MemoryTrial.Result.REFUSED);
    assertVerdict(Verdict.WARNING, new CrossMemoryCheck(), "tried: read 8 bytes");
    host.trial(MemoryTrial.Result.NOT_TRIED);
    assertVerdict(Verdict.NOTE, new CrossMemoryCheck(), "unknown");
  }

  @Test
  void containersOwnNamespacesAreNamed() {
    host.namespaces(4026532200L, 4026532201L, 4026531837L).with("/.dockerenv", "");
    assertVerdict(Verdict.NOTE, new ContainerCheck(),
        "in a container (/.dockerenv is there); own namespaces: IPC, PID");
    host.namespaces(4026531839L, 4026531836L, 4026531837L);
    assertVerdict(Verdict.OK, new ContainerCheck(), "the namespaces are the machine's");
  }

  @Test
  void networkNamespaceIsComparedWithTheFirstProcessWhereThatIsTheMachines() {
    host.link("/proc/self/ns/net", "net:[4026532000]");
    assertTrue(text(new ContainerCheck()).endsWith("cannot tell for: network"));
    host.link("/proc/1/ns/net", "net:[4026532000]");
    assertTrue(text(new ContainerCheck()).endsWith("the namespaces are the machine's"));
    host.link("/proc/1/ns/net", "net:[4026532001]");
    assertTrue(text(new ContainerCheck()).endsWith("own namespaces: network"));
  }

  @Test
  void folderMountedNoexecCannotHoldTheLibrary() {
    host.with("/proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\ntmpfs /tmp tmpfs rw,noexec 0 0\n")
        .nativeLibrary(Text.missing("loading the native library from the jar failed"));
    List<Finding> findings = new NativeLibraryCheck().look(host);
    assertEquals(List.of(Verdict.PROBLEM, Verdict.PROBLEM), findings.stream().map(Finding::verdict).toList());
    assertTrue(findings.get(0).next().contains("-Djava.io.tmpdir"));
    assertTrue(findings.get(1).next().contains("-Djava.io.tmpdir"));
  }

  @Test
  void localDirectoriesAreJudgedByTheirFileSystem() {
    host.with("/proc/self/mounts", "overlay / overlay rw 0 0\ntmpfs /ram tmpfs rw 0 0\nnas:/x /nas nfs4 rw 0 0\n"
        + "/dev/nvme0n1 /data xfs rw 0 0\n");
    for (String folder : List.of("/scratch", "/ram", "/nas", "/data", "/data/full", "/data/locked")) {
      host.folder(folder).space(folder, 100L << 30, 50L << 30);
    }
    host.space("/data/full", 100L << 30, 1L << 30).obstacle("/data/locked", "AccessDeniedException");
    List<Finding> findings =
        new LocalDirsCheck(List.of("/data", "/scratch", "/ram", "/nas", "/data/full", "/data/locked",
            "/absent")).look(host);
    assertEquals(
        List.of(Verdict.OK, Verdict.WARNING, Verdict.WARNING, Verdict.WARNING, Verdict.WARNING, Verdict.PROBLEM,
            Verdict.PROBLEM),
        findings.stream().map(Finding::verdict).toList());
    assertEquals("/data, xfs, 50 GiB free of 100 GiB", findings.get(0).text());
    assertTrue(findings.get(1).text().contains("writable layer"));
  }

  @Test
  void slowInterfaceAndSmallBuffersAreNotes() {
    host.with("/sys/class/net/eth0/speed", "1000\n").with("/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t212992\n")
        .with("/proc/sys/net/core/somaxconn", "128\n");
    assertVerdict(Verdict.NOTE, new InterfacesCheck(), "eth0: 10.0.0.7/24, MTU 1500, 1 Gb/s");
    assertEquals(List.of(Verdict.NOTE, Verdict.WARNING),
        new TcpCheck().look(host).stream().map(Finding::verdict).toList());
    host.with("/sys/class/net/eth0/speed", "-1\n");
    assertVerdict(Verdict.OK, new InterfacesCheck(), "speed unknown");
  }

  private String text(Check check) {
    return check.look(host).get(0).text();
  }

  private void assertVerdict(Verdict verdict, Check check, String part) {
    assertVerdict(verdict, check, host, part);
  }

  private static void assertVerdict(Verdict verdict, Check check, Host host, String part) {
    Finding finding = check.look(host).get(0);
    assertEquals(verdict, finding.verdict(), finding::toString);
    assertTrue(finding.text().contains(part), finding::toString);
  }
}
