package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Speculative copies on two hosts, with each transport. */
@Tag("deep")
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

  /** Each attempt's frames are sealed with keys of its own. */
  @Nested
  @InAll
  @Tag("once")
  class Encrypted extends Speculation {
    @BeforeAll
    void start() {
      start(cluster.masterUrl(), Map.of("spark.io.encryption.enabled", "true"));
    }
  }

  /**
   * Speculative copies read one-sidedly, and their map outputs, in files, are read one-sidedly. Skipped by name where
   * UCX cannot be opened.
   */
  @Nested
  @InAll
  @Tag("once")
  class OneSided extends OneSidedSpeculation {
    @BeforeAll
    void start() {
      startOneSided(Map.of("spark.sluice.mode", "MULTITHREADED", "spark.sluice.transport", "ucx"));
    }
  }

  /** The same with map outputs in memory. */
  @Nested
  @InAll
  @Tag("once")
  class OneSidedFromMemory extends OneSidedSpeculation {
    @BeforeAll
    void start() {
      startOneSided(Map.of("spark.sluice.mode", "UCX"));
    }

    @AfterEach
    void outputsWereInMemory() {
      assertTrue(grown(Counter.WRITE_MAP_OUTPUTS) > 0);
      assertEquals(grown(Counter.WRITE_MAP_OUTPUTS), grown(Counter.CACHE_OUTPUTS));
      assertEquals(0, grown(Counter.CACHE_MOVES));
    }
  }

  abstract static class OneSidedSpeculation extends Speculation {
    private Map<Counter, Long> before;

    final void startOneSided(Map<String, String> settings) {
      OneSidedTransportTest.assumeUcx();
      start(cluster.masterUrl(), settings);
      // Each round runs a new shuffle: if all map outputs of a shuffle are speculative copies, a single executor may
      // have all of them.
      OneSidedReads.await(application(), () -> Fingerprint.of(events().repartition(8, col("k"))));
    }

    @BeforeEach
    void count() {
      before = counters();
    }

    @AfterEach
    void blocksCameOneSidedly() {
      Map<Counter, Long> after = counters();
      assertEquals(OneSidedReads.fetchedByNetty(before), OneSidedReads.fetchedByNetty(after), after::toString);
    }

    final long grown(Counter counter) {
      return counters().get(counter) - before.get(counter);
    }

    private Map<Counter, Long> counters() {
      return ProcessCounters.ofExecutors(application().context());
    }
  }
}
