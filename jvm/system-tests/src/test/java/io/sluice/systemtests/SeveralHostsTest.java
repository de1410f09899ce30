package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Executors on separate hosts, which share no memory and are connected by slow links. One link is cut and restored; in
 * the last part the links lose packets.
 */
@Tag("once")
class SeveralHostsTest {
  private static final Path FOLDER = SparkApplication.workDir().resolve("several-hosts");

  @Test
  void sameRowsAsStockAlsoWhenALinkIsCutOrLosesPackets() throws Exception {
    String obstacle = EmulatedCluster.obstacle();
    assumeTrue(obstacle.isEmpty(), "several hosts on one machine: " + obstacle);
    // A run that was killed may have left the gate open.
    ShuffleFiles.deleteTree(FOLDER);
    try (EmulatedCluster cluster = EmulatedCluster.up("--workers", "2", "--rate", "100mbit")) {
      List<String> expected = onStock(cluster);
      // Blocks that cannot be read one-sidedly are fetched by Spark's block transfer: both transports are used.
      assertSame(expected, cluster, "ucx");
    } finally {
      ShuffleFiles.deleteTree(FOLDER);
    }
  }

  private static void assertSame(List<String> expected, EmulatedCluster cluster, String transport) throws Exception {
    Path gate = Files.createDirectories(FOLDER.resolve(transport));
    try (Program tested = start(cluster, Engine.UNDER_TEST, gate, transport)) {
      assertEquals(expected.get(0), result(tested, SeveralHostsProgram.REPARTITION));
      assertEquals(expected.get(1), result(tested, SeveralHostsProgram.JOIN));
      cutALinkAfter(gate, cluster, tested);
      assertEquals(expected.get(2), result(tested, SeveralHostsProgram.GATED));
      assertNotEquals("0", tested.await(SeveralHostsProgram.RETRIED_STAGES));
      assertNotEquals("0", tested.await(SeveralHostsProgram.REMOTE_BLOCKS));
      boolean oneSided = !tested.await(SeveralHostsProgram.ONE_SIDED_BLOCKS).equals("0");
      boolean possible =
          transport.equals("ucx") && Engine.UNDER_TEST.isSluice() && OneSidedTransportTest.whyNoUcx() == null;
      assertEquals(possible, oneSided, "whether blocks were read one-sidedly");
      assertEquals(Engine.UNDER_TEST.isSluice(), !tested.await(SeveralHostsProgram.IN_MEMORY).equals("0"));
      assertEquals(possible ? "yes" : "no", tested.await(SeveralHostsProgram.ONE_SIDED_AGAIN));
      losePackets(cluster);
      tested.goOn();
      assertEquals(expected.get(0), result(tested, SeveralHostsProgram.REPARTITION));
      assertEquals(expected.get(1), result(tested, SeveralHostsProgram.JOIN));
      assertNotEquals("0", tested.await(SeveralHostsProgram.SENT_AGAIN), "no packet was lost");
      assertEquals("0", tested.await(SeveralHostsProgram.LATE_FETCH_FAILURES));
      assertEquals(possible, !tested.await(SeveralHostsProgram.ONE_SIDED_BLOCKS).equals("0"));
      tested.awaitEnd();
    }
  }

  private static List<String> onStock(EmulatedCluster cluster) throws Exception {
    Path open = Files.createDirectories(FOLDER.resolve("stock"));
    Gate.open(open);
    try (Program stock = start(cluster, Engine.STOCK, open, "netty")) {
      List<String> results = new ArrayList<>();
      for (String query : SeveralHostsProgram.QUERIES) {
        results.add(result(stock, query));
      }
      stock.awaitEnd();
      return results;
    }
  }

  /**
   * The tasks at the gate have fetched their blocks. Later tasks cannot reach the other host, and one of them reports
   * that before the link is restored.
   */
  private static void cutALinkAfter(Path gate, EmulatedCluster cluster, Program program) throws Exception {
    Gate.awaitReached(gate);
    cluster.link("w2", "down");
    Gate.open(gate);
    program.await(SeveralHostsProgram.FETCH_FAILURE);
    cluster.link("w2", "up");
  }

  private static void losePackets(EmulatedCluster cluster) throws IOException {
    for (String worker : List.of("w1", "w2")) {
      cluster.link(worker, "loss", "5%");
    }
  }

  private static Program start(EmulatedCluster cluster, Engine engine, Path gate, String transport)
      throws IOException {
    Path log = SparkApplication.workDir().resolve("several-hosts-" + engine + "-" + transport + ".log");
    return cluster.start(SeveralHostsProgram.class, log, engine.name(), gate.toString(), transport);
  }

  private static String result(Program program, String query) throws InterruptedException {
    return program.await(SeveralHostsProgram.RESULT + query + ": ");
  }
}
