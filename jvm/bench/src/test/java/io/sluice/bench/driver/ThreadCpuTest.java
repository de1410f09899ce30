package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ThreadCpuTest {

  @Test
  void rolesAreToldByNames() {
    assertEquals(ThreadRole.TASK, ThreadRole.of("Executor task l"));
    assertEquals(ThreadRole.TASK, ThreadRole.of("Executor task i"), "Spark renames an idle thread");
    assertEquals(ThreadRole.ENCODER, ThreadRole.of("sluice-encoder-"));
    assertEquals(ThreadRole.JIT, ThreadRole.of("C2 CompilerThre"));
    assertEquals(ThreadRole.GC, ThreadRole.of("G1 Conc#0"));
    assertEquals(ThreadRole.OTHER, ThreadRole.of("shuffle-client-"));
  }

  @Test
  @Timeout(60)
  void workOfANamedThreadIsCounted() throws InterruptedException {
    ThreadCpu before = ThreadCpu.of(Stream.of(ProcessHandle.current()));
    long[] result = new long[1];
    double[] found = new double[1];
    Thread worker = new Thread(() -> {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (found[0] < 0.05 && System.nanoTime() < end) {
        for (int i = 0; i < 50_000_000; i++) {
          result[0] += i * result[0];
        }
        found[0] = ThreadCpu.of(Stream.of(ProcessHandle.current())).userSince(before, ThreadRole.ENCODER);
      }
    }, "sluice-encoder-test");
    worker.start();
    worker.join();
    assertTrue(found[0] >= 0.05, () -> found[0] + " s");
  }
}
