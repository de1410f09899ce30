package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/**
 * Tasks that sort several partitions and keep them, with memory for a part: they finish, and never wait for each other.
 */
@Timeout(180)
class SortsInOneTaskTest {
  private static final int RECORDS = 100_000;
  private RddOnBothEngines spark;

  private void start(boolean offHeap) {
    Map<String, String> settings = new HashMap<>();
    settings.put("spark.sluice.memory.waitTimeout", "5s");
    settings.put("spark.sluice.memory.limit", "16m");
    settings.put("spark.memory.offHeap.enabled", Boolean.toString(offHeap));
    settings.put("spark.memory.offHeap.size", "64m");
    spark = RddOnBothEngines.start(settings);
  }

  @AfterEach
  void stop() {
    spark.close();
  }

  private JavaPairRDD<Integer, String> sorted(String value, int partitions) {
    return spark.numbers(RECORDS).mapToPair(n -> new Tuple2<>(n * 0x9E3779B1, value.repeat(9) + n))
        .repartitionAndSortWithinPartitions(new HashPartitioner(partitions));
  }

  private void assertMemoryWasShort(boolean offHeap) {
    assertEquals(0, spark.counter(Counter.MEMORY_TIMEOUTS));
    assertTrue(
        spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS) > spark.counter(Counter.READ_PARTITIONS_SORTED_BY_SPARK));
    assertTrue(offHeap || spark.counter(Counter.READ_PARTITIONS_SORTED_BY_SPARK) > 0, "all rows had room");
  }

  /** The rest of the iterators is not read, so their rows stay until the task ends. */
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void sortsThatAreNotReadToTheirEndFreeTheirMemory(boolean offHeap) {
    start(offHeap);
    spark.assertSame(
        context -> sorted("abandoned", 12).mapPartitions(SortsInOneTaskTest::firstThree).coalesce(1).collect());
    assertMemoryWasShort(offHeap);
  }

  private static Iterator<String> firstThree(Iterator<Tuple2<Integer, String>> records) {
    List<String> first = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      first.add(records.next().toString());
    }
    return first.iterator();
  }

  @InAll
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void severalSortsReadTogetherAndShuffledAgain(boolean offHeap) {
    start(offHeap);
    spark.assertSame(
        context -> RddOnBothEngines.sorted(sorted("left", 4)
            .zipPartitions(sorted("right", 4), SortsInOneTaskTest::together)
            .mapToPair(text -> new Tuple2<>(text, 1)).partitionBy(new HashPartitioner(5)).keys().collect()));
    assertMemoryWasShort(offHeap);
  }

  private static Iterator<String> together(Iterator<Tuple2<Integer, String>> left,
      Iterator<Tuple2<Integer, String>> right) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return left.hasNext();
      }

      @Override
      public String next() {
        return left.next()._2() + right.next()._2();
      }
    };
  }
}
