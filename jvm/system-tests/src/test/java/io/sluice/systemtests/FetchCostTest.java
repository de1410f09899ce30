package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The processor time that a GiB of blocks takes which one executor fetches from another: one-sidedly, and by Spark's
 * block transfer, from the same file of Spark's and with the same requests. The blocks are dropped: only the fetch is
 * measured.
 *
 * <p>Prints the lines of {@code bench/results/transport/cpu.md}; how much it is decides nothing here.
 */
@InAll
@Tag("once")
class FetchCostTest {
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int OUTPUT_BYTES = 128 << 20;
  private static final long BYTES = 4L << 30;

  /** @param transports those of UCX that are allowed; empty: all */
  @ParameterizedTest
  @ValueSource(strings = {"", "tcp,self"})
  void aGibOfBlocks(String transports) {
    OneSidedTransportTest.assumeUcx();
    Map<String, String> ucx = transports.isEmpty() ? Map.of() : Map.of("spark.executorEnv.UCX_TLS", transports);
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false")
        .set("spark.shuffle.compress", "false")
        // Other tests run with the first compiler alone.
        .set("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=4")
        .set("spark.sluice.mode", "RDMA")
        .setAll(ucx)
        .start()
        .awaitExecutors(2)) {
      for (int blockBytes : new int[] {64 << 10, 1 << 20}) {
        MapOutput output = MapOutput.write(application.context(), OUTPUT_BYTES / blockBytes, blockBytes);
        String way = transports.isEmpty() ? "UCX" : "UCX, UCX_TLS=" + transports;
        FetchCost oneSided = fetch(application, output, blockBytes, true);
        assertEquals(0, oneSided.nettyBlocks(), oneSided::toString);
        assertTrue(oneSided.oneSidedBlocks() >= BYTES / blockBytes / 2, oneSided::toString);
        print(way, blockBytes, oneSided);
        FetchCost netty = fetch(application, output, blockBytes, false);
        assertEquals(0, netty.oneSidedBlocks(), netty::toString);
        print("Netty", blockBytes, netty);
      }
    }
  }

  /** Until the task comes to the executor that does not have the blocks. */
  private static FetchCost fetch(SparkApplication application, MapOutput output, int blockBytes, boolean oneSided) {
    FetchCost.Order order = new FetchCost.Order(output.place(), output.names(), blockBytes, oneSided, BYTES);
    AtomicReference<FetchCost> cost = new AtomicReference<>();
    Await.until(LIMIT, () -> "no task comes to the executor that does not have the blocks", () -> {
      cost.set(application.context().parallelize(List.of(order), 1).map(FetchCost::of).collect().get(0));
      return cost.get() != null;
    });
    assertTrue(cost.get().bytes() >= BYTES, () -> "bytes: " + cost.get());
    return cost.get();
  }

  private static void print(String way, int blockBytes, FetchCost cost) {
    System.out.printf("%s, blocks of %d KiB: %.2f s of the reading process and %.2f s of the owning one for a GiB; "
        + "%.0f MB/s%n", way, blockBytes >> 10, cost.readerSecondsPerGib(), cost.ownerSecondsPerGib(),
        cost.mbPerSecond());
  }
}
