package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.DriverCosts;
import io.sluice.bench.workload.HeldWorkload;
import io.sluice.bench.workload.ManyBlocks;
import io.sluice.bench.workload.ManyShuffles;
import io.sluice.bench.workload.Sizing;
import java.lang.ref.Reference;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the driver keeps of shuffles, on a Spark inside this JVM. */
class DriverMeterTest {

  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark = SparkSession.builder().master("local[2]").appName("driver-meter").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.sql.warehouse.dir", "target/warehouse").getOrCreate();
  }

  @AfterAll
  static void stop() {
    spark.stop();
  }

  private static DriverCosts costs(HeldWorkload workload, long rows) throws Exception {
    DriverMeter meter = DriverMeter.start();
    Object held = workload.runHeld(spark, new Sizing(rows, 1, 0));
    meter.ended();
    spark.sparkContext().listenerBus().waitUntilEmpty();
    DriverCosts costs = meter.costs();
    Reference.reachabilityFence(held);
    return costs;
  }

  @Test
  void shufflesAndTheSizesOfTheirBlocksAreCounted() throws Exception {
    DriverCosts few = costs(new ManyBlocks(), 16);
    DriverCosts more = costs(new ManyBlocks(), 1_600);
    assertEquals(1, few.shuffles());
    assertEquals(1, more.shuffles());
    assertTrue(more.statusBytes() > few.statusBytes() && few.statusBytes() > 0, few + " " + more);
    assertTrue(few.cpuS() > 0);
    // The shuffles of the runs before are no longer there.
    DriverCosts many = costs(new ManyShuffles(), 12);
    assertEquals(12, many.shuffles());
    assertTrue(many.statusBytes() > 12, many.toString());
  }

  @Test
  void whatTheRunKeepsIsInTheHeap() throws Exception {
    costs(new ManyShuffles(), 2);
    byte[][] kept = new byte[1][];
    DriverCosts costs = costs(new HeldWorkload() {
      @Override
      public Object runHeld(SparkSession session, Sizing sizing) {
        kept[0] = new byte[64 << 20];
        return kept;
      }

      @Override
      public Digest verify(SparkSession session, Sizing sizing) {
        throw new UnsupportedOperationException();
      }
    }, 1);
    assertEquals(0, costs.shuffles());
    assertEquals(0, costs.statusBytes());
    assertTrue(costs.heapBytes() > 60 << 20 && costs.heapBytes() < 80 << 20, costs.toString());
  }
}
