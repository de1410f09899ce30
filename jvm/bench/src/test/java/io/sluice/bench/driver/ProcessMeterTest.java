package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.ProcessCosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessMeterTest {

  private static final ProcessHandle SELF = ProcessHandle.current();

  @TempDir private Path proc;

  @Test
  void figuresAreThoseSinceTheStartAndMemoryIsItsHighest() throws IOException {
    write(700, 4096, 1000);
    try (ProcessMeter meter = ProcessMeter.start(proc, List.of(SELF), List.of())) {
      meter.costs();
      write(900, 10_000, 1500);
      meter.costs();
      write(300, 12_000, 1700);
      ProcessCosts costs = meter.costs();
      assertEquals(900 * 1024, costs.peakRssBytes());
      assertEquals(12_000 - 4096, costs.writtenBytes());
      assertEquals(700, costs.loopbackBytes());
    }
  }

  @Test
  void aServersCpuIsPartOfAll() {
    try (ProcessMeter meter = ProcessMeter.start(proc, List.of(), List.of(SELF))) {
      double end = SELF.info().totalCpuDuration().orElseThrow().toNanos() / 1e9 + 0.05;
      while (SELF.info().totalCpuDuration().orElseThrow().toNanos() / 1e9 < end) {
        // Uses CPU.
      }
      ProcessCosts costs = meter.costs();
      assertTrue(costs.serversCpuS() >= 0.04, () -> "CPU: " + costs);
      assertTrue(costs.cpuS() >= 0.04, () -> "CPU: " + costs);
    }
  }

  @Test
  void whatTheSystemDoesNotTellIsZeroOrNothing() {
    try (ProcessMeter meter = ProcessMeter.start(proc, List.of(SELF), List.of())) {
      ProcessCosts costs = meter.costs();
      assertEquals(0, costs.peakRssBytes());
      assertEquals(0, costs.writtenBytes());
      assertNull(costs.loopbackBytes());
    }
  }

  private void write(long rssKib, long writtenBytes, long loopbackBytes) throws IOException {
    Path own = Files.createDirectories(proc.resolve(Long.toString(SELF.pid())));
    Files.writeString(own.resolve("status"), "Name:\tjava\nVmHWM:\t 9999 kB\nVmRSS:\t     " + rssKib + " kB\n");
    Files.writeString(own.resolve("io"), "wchar: 99\nwrite_bytes: " + writtenBytes + "\ncancelled_write_bytes: 5\n");
    Files.createDirectories(proc.resolve("net"));
    Files.writeString(proc.resolve("net/dev"), "Inter-|   Receive\n face |bytes    packets\n    lo: " + loopbackBytes
        + "       7    0\n  eth0: 123 1 0\n");
  }
}
