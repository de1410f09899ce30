package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.Reply;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The calls of {@code ./sluice cluster} that the benchmark makes, recorded by a script that replaces it. */
class ClusterTest {

  private static final SparkHome HOME = SparkHome.at(Path.of("/homes/4.2.0-2.13"));

  @TempDir private Path root;

  private Path calls;
  private Workplace workplace;

  @BeforeEach
  void writeScript() throws IOException {
    calls = root.resolve("calls");
    workplace = new Workplace(root, root.resolve("sluice.jar"), null, Peers.NONE);
    Path script = root.resolve("sluice");
    Files.writeString(script, "#!/bin/sh\necho \"$*\" >>'" + calls + "'\n[ ! -e '" + root + "/broken' ] || exit 1\n"
        + "echo spark://10.77.0.1:7077\n");
    assertTrue(script.toFile().setExecutable(true));
  }

  @Test
  void itIsAskedForByTheOptionsOfTheBenchmarkAndTakenDownOnce() throws IOException {
    Cluster cluster = Cluster.up(Hosts.parse("3,2", "1gbit", null, "1%"), 2, 4096, 8192, HOME, workplace);
    cluster.close();
    cluster.close();
    assertEquals(List.of("cluster up --name bench --owner " + ProcessHandle.current().pid()
        + " --spark /homes/4.2.0-2.13 --workers 3 --cores 4 --memory 16384m --rate 1gbit --loss 1%",
        "cluster down --name bench"), Files.readAllLines(calls));
  }

  @Test
  void everyApplicationGetsOneExecutorPerWorkerAndADriverOnTheCluster() {
    try (Cluster cluster = Cluster.up(Hosts.parse("3,2", null, null, null), 2, 4096, 8192, HOME, workplace)) {
      Site site = cluster.site();
      assertEquals("spark://10.77.0.1:7077", site.master().url());
      assertEquals(OptionalInt.of(4096), site.master().executorMemoryMib());
      assertEquals(Map.of("spark.executor.cores", "2", "spark.cores.max", "6"), site.settings());
      assertEquals(List.of(root + "/sluice", "cluster", "run", "--name", "bench", "--"), site.driverCommand());
    }
  }

  @Test
  void aSlowHostsLinkIsChangedAndAHostGoesAwayInTheMiddleOfARun() throws IOException {
    Hosts hosts = Hosts.parse("3", "1gbit", null, null).withSlow("w2=100mbit").withAway("w3=30s");
    try (Cluster cluster = Cluster.up(hosts, 1, 4096, 8192, HOME, workplace)) {
      HostAbsence absence = cluster.site().absence();
      absence.before("a run", progress -> {}, ClusterTest::twoTasks);
      assertEquals("result", absence.during("a run", progress -> {}, heard -> {
        twoTasks(heard);
        awaitAway();
        return "result";
      }));
    }
    assertEquals(List.of("cluster link --name bench w2 rate 100mbit", "cluster link --name bench w3 down",
        "cluster link --name bench w3 up", "cluster down --name bench"), Files.readAllLines(calls).subList(1, 5));
  }

  private static String twoTasks(Consumer<Reply> heard) {
    heard.accept(Reply.progress(0, 2));
    heard.accept(Reply.progress(2, 2));
    return "result";
  }

  /** Until the command that cuts the host off has returned: its thread waits for the end of the run then. */
  private static void awaitAway() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    try {
      while (!isAway()) {
        assertTrue(System.nanoTime() < end, "the host was not cut off");
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean isAway() {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(thread -> thread.getKey().getName().equals("host-away"))
        .flatMap(thread -> Arrays.stream(thread.getValue()))
        .anyMatch(frame -> frame.getClassName().equals(CountDownLatch.class.getName()));
  }

  @Test
  void withoutASlowAndAnAbsentHostNoLinkIsChanged() throws IOException {
    try (Cluster cluster = Cluster.up(Hosts.parse("3", null, null, null), 2, 4096, 8192, HOME, workplace)) {
      assertNull(cluster.site().absence());
    }
    assertEquals(2, Files.readAllLines(calls).size());
  }

  /**
   * A script that fails has removed what it had started; a cluster that is still up may be that of another benchmark.
   */
  @Test
  void oneThatDoesNotComeUpIsNotTakenDown() throws IOException {
    Files.createFile(root.resolve("broken"));
    Hosts hosts = Hosts.parse("2", null, null, null);
    assertThrows(IllegalStateException.class, () -> Cluster.up(hosts, 2, 4096, 8192, HOME, workplace));
    assertEquals(1, Files.readAllLines(calls).size());
  }

  @Test
  void hostsAreDescribedInWords() {
    assertEquals("3 hosts on one machine, 1 core each, 1gbit links, delay 0.2ms, loss 1%",
        Hosts.parse("3", "1gbit", "0.2ms", "1%").describe());
    assertEquals("1 host on one machine, 4 cores each, links without limit",
        Hosts.parse("1,4", null, null, null).describe());
    assertEquals("2 hosts on one machine, 1 core each, 1gbit links, w1's 10mbit, w2 away for 30 s",
        Hosts.parse("2", "1gbit", null, null).withSlow("w1=10mbit").withAway("w2=30s").describe());
  }
}
