package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Speculative copies on two hosts, for each way that blocks travel. */
class SpeculationTest {
  private static StandaloneCluster cluster;

  @BeforeAll
  static void startCluster() throws IOException {
    cluster = StandaloneCluster.start();
  }

  @AfterAll
  static void stopCluster() {
    cluster.close();
  }

  @Nested
  class ByNetty extends Speculation {
    @BeforeAll
    void start() {
      start(cluster.masterUrl(), Map.of());
    }
  }

  /** They read one-sidedly, and their outputs are read so. Skipped by name where UCX cannot be opened. */
  @Nested
  @Tag("once")
  class OneSided extends Speculation {
    private Map<Counter, Long> before;

    @BeforeAll
    void start() {
      OneSidedTransportTest.assumeUcx();
      start(cluster.masterUrl(), Map.of("spark.sluice.mode", "MULTITHREADED", "spark.sluice.transport", "ucx"));
      // Each time another shuffle: when all of one's outputs are speculative copies, a single executor may have them.
      OneSidedReads.await(application(), () -> Fingerprint.of(events().repartition(8, col("k"))));
    }

    @BeforeEach
    void count() {
      before = ProcessCounters.ofExecutors(application().context());
    }

    @AfterEach
    void blocksCameOneSidedly() {
      Map<Counter, Long> after = ProcessCounters.ofExecutors(application().context());
      assertEquals(OneSidedReads.leftToSpark(before), OneSidedReads.leftToSpark(after), after::toString);
    }
  }
}
