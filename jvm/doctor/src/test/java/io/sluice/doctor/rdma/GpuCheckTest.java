package io.sluice.doctor.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Verdict;
import io.sluice.doctor.host.FakeHost;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * GPUs as the kernel's module and {@code nvidia-smi} show them. The answers are written after NVIDIA's documentation,
 * not copied from a machine.
 */
class GpuCheckTest {
  private static final String UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff";
  @TempDir Path root;
  private FakeHost host;

  @BeforeEach
  void machine() {
    host = FakeHost.ordinary(root);
  }

  @Test
  void aMachineWithoutIsAsItShouldBe() {
    assertEquals(1, look().size());
    assertTrue(look().get(0).text().startsWith("none"));
  }

  @Test
  void gpusAndTheirModulesAreNamed() {
    gpu();
    assertTrue(look().get(0).text()
        .startsWith("1 × NVIDIA H100, driver 535.104.05, GPUDirect RDMA: nvidia_peermem;"));
    host.without("/dev/nvidia0");
    assertEquals(Verdict.NOTE, look().get(0).verdict());
  }

  @Test
  void openKernelModulesExportDmaBuf() {
    gpu();
    host.with("/proc/modules", "nvidia 1 0 - Live 0x0\n");
    assertTrue(look().get(0).text().contains("nor nv_peer_mem is loaded, no dma-buf;"), look().get(0).text());
    host.with("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n");
    String text = look().get(0).text();
    assertTrue(text.contains("driver 580.159.04") && text.contains("by dma-buf where"), text);
  }

  @Test
  void theDriversVersionOfCudaIsTold() {
    gpu();
    smi("Default", "Disabled");
    assertTrue(look().get(0).text().contains("driver 535.104.05, CUDA 12.2,"), look().get(0).text());
    assertEquals(Verdict.OK, look().get(0).verdict());
    host.command("nvidia-smi", "| NVIDIA-SMI 470.57   Driver Version: 470.57   CUDA Version: 11.4     |");
    assertTrue(look().get(0).text().contains("Sluice needs CUDA 12.0"), look().get(0).text());
    assertEquals(Verdict.NOTE, look().get(0).verdict());
  }

  @Test
  void memoryModesAndUsersOfEachGpuAreTold() {
    gpu();
    smi("Default", "Disabled");
    assertEquals("number 0: 60 GiB free of 79.6 GiB, compute capability 9.0, compute mode Default, MIG disabled, "
        + "processes with contexts: 2", look().get(1).text());
    assertEquals(Verdict.OK, look().get(1).verdict());
    smi("Exclusive_Process", "[N/A]");
    assertEquals(Verdict.NOTE, look().get(1).verdict());
    assertTrue(look().get(1).text().contains("one executor"), look().get(1).text());
    smi("Prohibited", "[N/A]");
    assertTrue(look().get(1).text().endsWith("no process can use it"), look().get(1).text());
  }

  @Test
  void gpusForWhichThereAreNoKernelsAreNoted() {
    gpu();
    smi("Default", "[N/A]");
    for (String capability : List.of("7.0", "6.1", "3.5")) {
      host.command(String.join(" ", SmiDevice.QUERY),
          "0, " + UUID + ", " + capability + ", Default, [N/A], 16384, 16000");
      assertEquals(Verdict.NOTE, look().get(1).verdict(), capability);
      assertTrue(look().get(1).text().endsWith("7.5 and later, so none for it"), look().get(1).text());
    }
    for (String capability : List.of("7.5", "8.9", "10.0", "12.1")) {
      host.command(String.join(" ", SmiDevice.QUERY),
          "0, " + UUID + ", " + capability + ", Default, [N/A], 16384, 16000");
      assertEquals(Verdict.OK, look().get(1).verdict(), capability);
    }
  }

  @Test
  void theSettingThatUsesThemIsNamed() {
    gpu();
    smi("Default", "Disabled");
    assertTrue(look().get(0).text().endsWith("spark.sluice.gpu says so (off by default)"), look().get(0).text());
    // Where it could not be used, the setting would not help.
    host.without("/dev/nvidia0");
    assertTrue(look().get(0).text().endsWith("not passed on to this container"), look().get(0).text());
  }

  @Test
  void slicesAreCounted() {
    gpu();
    smi("Default", "Enabled");
    host.command("nvidia-smi -L", """
        GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)
          MIG 1g.10gb     Device  0: (UUID: MIG-1)
          MIG 1g.10gb     Device  1: (UUID: MIG-2)
          MIG 3g.40gb     Device  2: (UUID: MIG-3)
        """);
    assertEquals("MIG slices: 2 × 1g.10gb, 1 × 3g.40gb; a process sees one of them", look().get(2).text());
  }

  @Test
  void aProgramThatDoesNotAnswerIsToldOf() {
    gpu();
    assertEquals(2, look().size());
    assertTrue(look().get(1).text().startsWith("nvidia-smi did not answer"), look().get(1).text());
    assertEquals(Verdict.NOTE, look().get(1).verdict());
  }

  @Test
  void anAnswerOfAnotherShapeIsToldOf() {
    gpu();
    smi("Default", "Disabled");
    host.command(String.join(" ", SmiDevice.QUERY), "No devices were found");
    assertEquals(2, look().size());
    assertTrue(look().get(1).text().endsWith("as expected: No devices were found"), look().get(1).text());
    host.command(String.join(" ", SmiDevice.QUERY), "0, " + UUID + ", [N/A], Default, [N/A], [N/A], [N/A]");
    assertTrue(look().get(1).text().startsWith("number 0: memory unknown"), look().get(1).text());
    assertEquals(Verdict.OK, look().get(1).verdict());
  }

  private List<Finding> look() {
    return new GpuCheck().look(host);
  }

  private void gpu() {
    host.with("/dev/nvidia0", "").with("/dev/nvidiactl", "")
        .with("/proc/modules", "nvidia_peermem 16384 0 - Live 0x0\n")
        .with("/proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: \t\t NVIDIA H100\nIRQ: 1\n")
        .with("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n");
  }

  private void smi(String mode, String mig) {
    host.command("nvidia-smi", "| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |");
    host.command(String.join(" ", SmiDevice.QUERY), "0, " + UUID + ", 9.0, " + mode + ", " + mig + ", 81559, 61440");
    host.command(String.join(" ", SmiDevice.USERS), UUID + ", 4711\n" + UUID + ", 4712\nGPU-other, 4713");
  }
}
