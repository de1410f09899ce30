package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class ThreadCpuTest {
  private static final long PROCESS = 77;

  @TempDir private Path proc;

  @Test
  void rolesAreToldByNames() {
    assertEquals(ThreadRole.TASK, ThreadRole.of("Executor task l"));
    assertEquals(ThreadRole.TASK, ThreadRole.of("Executor task i"), "Spark renames an idle thread");
    assertEquals(ThreadRole.ENCODER, ThreadRole.of("sluice-encoder-"));
    assertEquals(ThreadRole.JIT, ThreadRole.of("C2 CompilerThre"));
    assertEquals(ThreadRole.GC, ThreadRole.of("G1 Conc#0"));
    assertEquals(ThreadRole.OTHER, ThreadRole.of("shuffle-client-"));
  }

  /** @param schedstat null for a kernel that has no such file */
  private void write(int thread, String name, int userTicks, int systemTicks, String schedstat) throws IOException {
    Path folder = Files.createDirectories(proc.resolve(PROCESS + "/task/" + thread));
    Files.writeString(folder.resolve("stat"), thread + " (" + name + ") S 1 2 3 4 5 6 7 8 9 10 " + userTicks + " "
        + systemTicks + " 0 0 20 0 9 0\n");
    if (schedstat == null) {
      Files.deleteIfExists(folder.resolve("schedstat"));
    } else {
      Files.writeString(folder.resolve("schedstat"), schedstat + "\n");
    }
  }

  private ThreadCpu sample() {
    return ThreadCpu.of(proc, List.of(PROCESS));
  }

  @Test
  void whatThreadsOfARoleUsedAndWaitedForIsAddedUp() throws IOException {
    write(1, "Executor task l", 100, 10, "1100000000 500000000 9");
    write(2, "Executor task (2)", 50, 0, "500000000 0 9");
    write(3, "C2 CompilerThre", 70, 0, "700000000 0 9");
    ThreadCpu before = sample();
    write(1, "Executor task i", 200, 30, "2300000000 750000000 9");
    write(2, "Executor task (2)", 150, 5, "1550000000 250000000 9");
    write(4, "Executor task l", 10, 0, "100000000 1000000 9");
    ThreadTimes tasks = sample().since(before).get(ThreadRole.TASK);
    assertEquals(1.2 + 1.05 + 0.1, tasks.cpuS(), 1e-9);
    assertEquals(0.2 + 0.05, tasks.kernelS(), 1e-9);
    assertEquals(0.25 + 0.25 + 0.001, tasks.coreWaitS(), 1e-9);
    assertEquals(ThreadTimes.NONE, sample().since(before).get(ThreadRole.JIT));
    assertEquals(ThreadTimes.NONE, sample().since(before).get(ThreadRole.ENCODER));
  }

  /** Its time before must not be taken from that of the others. */
  @Test
  void aThreadThatHasEndedIsLeftOut() throws IOException {
    write(1, "Executor task l", 100, 0, "1000000000 900000000 9");
    write(2, "Executor task l", 100, 0, "1000000000 900000000 9");
    ThreadCpu before = sample();
    write(1, "Executor task l", 140, 0, "1400000000 1000000000 9");
    Files.delete(proc.resolve(PROCESS + "/task/2/stat"));
    ThreadTimes tasks = sample().since(before).get(ThreadRole.TASK);
    assertEquals(0.4, tasks.cpuS(), 1e-9);
    assertEquals(0.1, tasks.coreWaitS(), 1e-9);
  }

  @Test
  void withoutTheSchedulersFiguresWaitingForACoreIsNotKnown() throws IOException {
    for (String nothing : new String[] {null, "0 0 0"}) {
      write(1, "Executor task l", 100, 20, nothing);
      ThreadCpu before = sample();
      write(1, "Executor task l", 150, 30, nothing);
      ThreadTimes tasks = sample().since(before).get(ThreadRole.TASK);
      assertEquals(0.6, tasks.cpuS(), 1e-9);
      assertEquals(0.1, tasks.kernelS(), 1e-9);
      assertTrue(Double.isNaN(tasks.coreWaitS()), tasks::toString);
    }
  }

  /** More threads than cores work until {@code figure} of the encoders' times is seen. */
  private static double inThisProcess(int threads, ToDoubleFunction<ThreadTimes> figure) throws InterruptedException {
    ThreadCpu before = ThreadCpu.of(Stream.of(ProcessHandle.current()));
    double[] found = new double[1];
    long[] results = new long[threads];
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    List<Thread> workers = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      int mine = thread;
      workers.add(new Thread(() -> {
        while (found[0] < 0.05 && System.nanoTime() < end) {
          for (int i = 0; i < 50_000_000; i++) {
            results[mine] += i * results[mine];
          }
          synchronized (found) {
            found[0] = Math.max(found[0], figure.applyAsDouble(
                ThreadCpu.of(Stream.of(ProcessHandle.current())).since(before).get(ThreadRole.ENCODER)));
          }
        }
      }, "sluice-encoder-test"));
    }
    workers.forEach(Thread::start);
    for (Thread worker : workers) {
      worker.join();
    }
    return found[0];
  }

  @Test
  @Timeout(60)
  void workOfANamedThreadIsCounted() throws InterruptedException {
    double found = inThisProcess(1, ThreadTimes::cpuS);
    assertTrue(found >= 0.05, () -> found + " s");
  }

  @Test
  @Timeout(60)
  void threadsThatWaitForACoreAreCounted() throws InterruptedException {
    assumeTrue(Files.exists(Path.of("/proc/self/schedstat")), "this kernel has no such figures");
    double found = inThisProcess(2 * Runtime.getRuntime().availableProcessors(), ThreadTimes::coreWaitS);
    assertTrue(found >= 0.05, () -> found + " s");
  }
}
