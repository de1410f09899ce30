package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/**
 * What a driver keeps of 10,000 registered shuffles and of one shuffle of a million blocks, and how long it takes to
 * register: no more than on Spark's own shuffle. The figures are written to {@code target/driver-at-scale.md}.
 */
@Tag("deep")
@InAll
@Timeout(900)
class DriverAtScaleTest {
  private static final int ROUNDS = 5;
  private static final int SHUFFLES_OF_A_ROUND = 2_000;
  private static final int MAPS = 1_000;
  private static final int REDUCERS = 1_000;
  /** The heap also has what is there for other reasons and comes and goes. */
  private static final double BYTES_TOLERANCE = 1.05;
  private static final long BYTES_VARY_BY = 1 << 20;
  /** A busy machine may double a time; it is the figures on the page that are compared closely. */
  private static final double TIME_TOLERANCE = 2;
  private static final long TIME_VARIES_BY_NANOS = 100_000_000;

  /**
   * @param shuffleBytes of heap that the driver has more for all the registered shuffles
   * @param roundNanos of the fastest round of registering
   * @param blockBytes of heap that it has more for the shuffle of a million blocks
   * @param blockNanos that this shuffle takes, on two executors
   */
  private record Kept(long shuffleBytes, long roundNanos, long blockBytes, long blockNanos) {
    String row(Engine engine) {
      return String.format(Locale.ROOT, "| %s | %.0f | %.1f | %.0f | %.1f |%n", engine.isSluice() ? "Sluice" : "stock",
          (double) shuffleBytes / (ROUNDS * SHUFFLES_OF_A_ROUND), roundNanos / 1e3 / SHUFFLES_OF_A_ROUND,
          (double) blockBytes / MAPS, blockNanos / 1e9);
    }
  }

  @Test
  void theDriverKeepsNoMoreThanOnStock() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    Kept stock = measure(Engine.STOCK);
    Kept ours = measure(Engine.UNDER_TEST);
    write(stock.row(Engine.STOCK) + ours.row(Engine.UNDER_TEST));
    assertTrue(ours.shuffleBytes() <= BYTES_TOLERANCE * stock.shuffleBytes() + BYTES_VARY_BY,
        () -> stock + " and " + ours);
    assertTrue(ours.blockBytes() <= BYTES_TOLERANCE * stock.blockBytes() + BYTES_VARY_BY, () -> stock + " and " + ours);
    assertTrue(ours.roundNanos() <= TIME_TOLERANCE * stock.roundNanos() + TIME_VARIES_BY_NANOS,
        () -> stock + " and " + ours);
  }

  private static Kept measure(Engine engine) throws InterruptedException {
    try (SparkApplication application = SparkApplication.on(engine).master(SparkApplication.CLUSTER).start()
        .awaitExecutors(2)) {
      JavaPairRDD<Integer, Integer> pairs =
          application.context().parallelize(List.of(1, 2), 2).mapToPair(i -> new Tuple2<>(i, i));
      // Both compile what registers.
      assertEquals(SHUFFLES_OF_A_ROUND, registered(pairs).size());
      List<JavaPairRDD<Integer, Integer>> shuffles = new ArrayList<>();
      long before = usedHeap(application);
      long roundNanos = Long.MAX_VALUE;
      for (int round = 0; round < ROUNDS; round++) {
        long start = System.nanoTime();
        shuffles.addAll(registered(pairs));
        roundNanos = Math.min(roundNanos, System.nanoTime() - start);
      }
      long shuffleBytes = usedHeap(application) - before;
      assertEquals(ROUNDS * SHUFFLES_OF_A_ROUND, shuffles.size());

      before = usedHeap(application);
      long start = System.nanoTime();
      JavaPairRDD<Integer, Integer> blocks = application.context()
          .parallelize(IntStream.range(0, MAPS).boxed().toList(), MAPS)
          .flatMapToPair(map -> IntStream.range(0, REDUCERS).mapToObj(key -> new Tuple2<>(key, map)).iterator())
          .partitionBy(new HashPartitioner(REDUCERS));
      assertEquals((long) MAPS * REDUCERS, blocks.count());
      long blockNanos = System.nanoTime() - start;
      long blockBytes = usedHeap(application) - before;
      assertEquals(REDUCERS, blocks.getNumPartitions());
      return new Kept(shuffleBytes, roundNanos, blockBytes, blockNanos);
    }
  }

  /** New shuffles of {@code pairs}; a dependency registers its shuffle when it is made. */
  private static List<JavaPairRDD<Integer, Integer>> registered(JavaPairRDD<Integer, Integer> pairs) {
    List<JavaPairRDD<Integer, Integer>> shuffles = new ArrayList<>();
    for (int i = 0; i < SHUFFLES_OF_A_ROUND; i++) {
      JavaPairRDD<Integer, Integer> shuffle = pairs.partitionBy(new HashPartitioner(2));
      assertEquals(1, shuffle.rdd().dependencies().size());
      shuffles.add(shuffle);
    }
    return shuffles;
  }

  /** Bytes of the driver's heap after collections, and after Spark's cleaner has done what these made it do. */
  private static long usedHeap(SparkApplication application) throws InterruptedException {
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(1_000);
      application.events();
    }
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static void write(String rows) throws IOException {
    Path target = Path.of(System.getProperty("systemtests.workDir")).resolveSibling("driver-at-scale.md");
    String head = "| | bytes of a registered shuffle | µs to register one | bytes of a map output of 1,000 blocks "
        + "| s of the shuffle of 1,000,000 blocks |\n| --- | ---: | ---: | ---: | ---: |\n";
    Files.writeString(target, head + rows);
    System.out.print(head + rows);
  }
}
