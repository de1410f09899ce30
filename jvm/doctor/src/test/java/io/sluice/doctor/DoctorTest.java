package io.sluice.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.host.FakeHost;
import io.sluice.doctor.host.MemoryTrial;
import io.sluice.doctor.host.Text;
import io.sluice.doctor.mode.Mode;
import io.sluice.doctor.mode.ModeVerdict;
import io.sluice.doctor.mode.State;
import io.sluice.doctor.report.JsonReport;
import io.sluice.doctor.report.Report;
import io.sluice.doctor.report.TextReport;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole machines, from files to verdicts and both forms of the report. */
class DoctorTest {
  private static final String LIB = "/usr/lib/x86_64-linux-gnu";

  @TempDir private Path root;

  @Test
  void ordinaryNodeRunsTheDefaultMode() {
    Report report = examine(FakeHost.ordinary(root));
    assertEquals(State.READY, verdict(report, Mode.MULTITHREADED).state());
    assertEquals(State.FALLS_BACK, verdict(report, Mode.RDMA).state());
    assertTrue(report.usable());
    assertFalse(examine(FakeHost.ordinary(root), "--mode", "MULTITHREADED,RDMA").usable());
  }

  @Test
  void sparkHomeOfTheEnvironmentIsChecked() {
    FakeHost host = FakeHost.ordinary(root).environment("SPARK_HOME", "/opt/spark")
        .with("/opt/spark/jars/spark-core_2.12-3.1.2.jar", "");
    assertEquals(State.NOT_POSSIBLE, verdict(examine(host), Mode.MULTITHREADED).state());
    host.with("/opt/other/jars/spark-core_2.13-4.2.0.jar", "");
    assertEquals(State.READY, verdict(examine(host, "--spark-home", "/opt/other"), Mode.MULTITHREADED).state());
  }

  @Test
  void roceNodeWithUcxRunsRdma() {
    Report report = examine(roce(FakeHost.ordinary(root)), "--mode=rdma");
    assertEquals(State.READY, verdict(report, Mode.RDMA).state(), () -> TextReport.render(report));
    assertTrue(report.usable());
  }

  @Test
  void containerWithDefaultsGetsEveryMissingStep() {
    FakeHost host = roce(FakeHost.ordinary(root)).limits("65536", "1048576").space("/dev/shm", 64L << 20, 64L << 20)
        .namespaces(4026532200L, 4026532201L, 4026531837L).without("/dev/infiniband/uverbs0")
        .with("/proc/sys/kernel/yama/ptrace_scope", "1\n").trial(MemoryTrial.Result.REFUSED)
        .with("/proc/self/mounts", "overlay / overlay rw 0 0\nshm /dev/shm tmpfs rw 0 0\n");
    ModeVerdict rdma = verdict(examine(host), Mode.RDMA);
    assertEquals(State.READY_WITH_NOTES, rdma.state());
    String steps = rdma.reasons().toString();
    for (String step : List.of("--ulimit memlock=-1", "--shm-size=2g", "--device=/dev/infiniband",
        "--cap-add=SYS_PTRACE",
        "Mount a volume for /tmp")) {
      assertTrue(steps.contains(step), step + " is not in " + steps);
    }
  }

  @Test
  void oldUcxFallsBack() {
    FakeHost host = roce(FakeHost.ordinary(root)).with(LIB + "/libucp.so.0", "1.13.1\0");
    ModeVerdict rdma = verdict(examine(host), Mode.RDMA);
    assertEquals("will fall back to Spark's block transfer (Netty)", rdma.words());
    assertTrue(rdma.reasons().get(0).text().contains("older than 1.14.0"));
  }

  @Test
  void machineWithoutAnyFilesIsReportedAsNotUsable() {
    FakeHost host = new FakeHost(root).nativeLibrary(Text.missing("no library")).trial(MemoryTrial.Result.NOT_TRIED);
    Report report = examine(host);
    assertFalse(report.findings().stream().anyMatch(finding -> finding.text().contains("this check failed")),
        () -> TextReport.render(report));
    assertFalse(report.usable());
    assertFalse(TextReport.render(report).isEmpty() || JsonReport.render(report).isEmpty());
  }

  @Test
  void textFitsTheColumnsAndHasEveryFinding() {
    Report report =
        examine(roce(FakeHost.ordinary(root)).limits("65536", "100").space("/dev/shm", 64L << 20, 64L << 20));
    String text = TextReport.render(report);
    text.lines().forEach(line -> assertTrue(line.length() <= 100 && line.equals(line.stripTrailing()), line));
    String flowing = text.replaceAll("\\s+", " ");
    report.findings().forEach(finding -> assertTrue(flowing.contains(finding.text()), finding::toString));
    Arrays.stream(Mode.values()).forEach(mode -> assertTrue(text.contains("\n  " + mode.name() + " "), mode.name()));
    assertTrue(text.endsWith("Usable on this machine: MULTITHREADED.\n"), text);
  }

  @Test
  void jsonHasTheVerdictsThatProgramsAskFor() {
    String json = JsonReport.render(examine(FakeHost.ordinary(root), "--mode", "RDMA"));
    assertTrue(json.contains("\"subject\": \"native-library\""), json);
    assertTrue(json.contains("\"state\": \"falls-back\""), json);
    assertTrue(json.endsWith("\"asked\": [\n    \"RDMA\"\n  ],\n  \"usable\": false\n}\n"), json);
  }

  private static Report examine(FakeHost host, String... arguments) {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    try (CheckProgress progress = CheckProgress.start(new PrintStream(err), true, CheckProgress.QUIET_MILLIS)) {
      return Doctor.examine(host, Options.parse(List.of(arguments)), "0.1.0", "/opt/sluice-0.1.0.jar", progress);
    }
  }

  private static ModeVerdict verdict(Report report, Mode mode) {
    return report.modes().stream().filter(verdict -> verdict.mode() == mode).findFirst().orElseThrow();
  }

  private static FakeHost roce(FakeHost host) {
    String port = "/sys/class/infiniband/mlx5_0/ports/1";
    return host.with(port + "/state", "4: ACTIVE\n").with(port + "/link_layer", "Ethernet\n")
        .with(port + "/rate", "100 Gb/sec (4X EDR)\n").with(port + "/gid_attrs/ndevs/0", "ens1f0\n")
        .with(port + "/gid_attrs/types/0", "RoCE v2\n").address("ens1f0", "31.31.31.41/24")
        .with("/dev/infiniband/uverbs0", "").with("/usr/lib64/libibverbs.so.1", "")
        .with("/etc/libibverbs.d/mlx5.driver", "").with(LIB + "/libucp.so.0", "\0A1.17.0\0")
        .with(LIB + "/ucx/libuct_ib.so.0", "")
        .command("ldconfig -p", "\tlibucp.so.0 (libc6,x86-64) => " + LIB + "/libucp.so.0\n");
  }
}
