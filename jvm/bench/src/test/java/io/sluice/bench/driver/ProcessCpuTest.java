package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.CpuReading;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ProcessCpuTest {

  private static final long DRIVER = 7;
  private static final long EXECUTOR = 8;

  @Test
  void whatAProcessUsedBeforeItWasSeenDoesNotCount() {
    try (ProcessCpu cpu = new ProcessCpu()) {
      cpu.record(100, Map.of(DRIVER, 3.0));
      cpu.record(200, Map.of(DRIVER, 3.5, EXECUTOR, 20.0));
      cpu.record(300, Map.of(DRIVER, 4.0, EXECUTOR, 21.0));
      // The executor has ended.
      cpu.record(400, Map.of(DRIVER, 4.25));
      assertEquals(List.of(new CpuReading(100, 0), new CpuReading(200, 0.5), new CpuReading(300, 2),
          new CpuReading(400, 2.25)), cpu.readings());
    }
  }

  @Test
  @Timeout(60)
  void workOfThisProcessIsRead() {
    long work = 1;
    try (ProcessCpu cpu = ProcessCpu.start()) {
      cpu.add(Stream.of(ProcessHandle.current(), ProcessHandle.current()));
      while (cpu.readings().isEmpty() || last(cpu).cpuS() < 0.3) {
        for (int i = 0; i < 1_000_000; i++) {
          work = work * 31 + i;
        }
      }
      assertTrue(last(cpu).atMs() > cpu.readings().get(0).atMs(), "work " + work);
    }
  }

  private static CpuReading last(ProcessCpu cpu) {
    List<CpuReading> readings = cpu.readings();
    return readings.get(readings.size() - 1);
  }
}
