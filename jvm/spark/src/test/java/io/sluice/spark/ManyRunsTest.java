package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.metrics.Counter;
import java.io.Serializable;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

import scala.math.Ordering$;

/**
 * Sorts by an order that Sluice guesses, of so many rows that the runs which it spills reach the limit of runs that are
 * merged at once (64 in {@code ProvenSorter}). Then Spark's sorter of objects takes over.
 */
@Timeout(180)
class ManyRunsTest {
  private static final int MOST_RUNS = 64;
  private static final int VALUE_BYTES = 2000;
  /** A task keeps an eighth of 24 MiB in memory, and spills when that is full: 1000 to 1500 rows a run. */
  private static final int ROWS_OF_MANY_RUNS = 90_000;
  private static final int ROWS_OF_FEWER_RUNS = 37_500;
  private static RddOnBothEngines spark;

  /** Thousands of keys are equal. */
  private static final class ByThousands implements Comparator<Integer>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compare(Integer left, Integer right) {
      return Integer.compare(left / 1000, right / 1000);
    }
  }

  @BeforeAll
  static void start() {
    spark = RddOnBothEngines.start("local[4]", Map.of("spark.sluice.memory.limit", "24m",
        // So that the reader of a run takes 2 MiB, which is the least size of a run.
        "spark.unsafe.sorter.spill.read.ahead.enabled", "false"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  /**
   * One map task and one reduce task, so that stock gives equal keys an order: the one in which they come. A value is
   * the number of its row, many times.
   */
  private static List<String> sorted(int rows) {
    JavaPairRDD<Integer, byte[]> records = spark.numbers(rows).coalesce(1).mapToPair(n -> {
      byte[] value = new byte[VALUE_BYTES];
      Arrays.fill(value, n.byteValue());
      value[0] = (byte) (n.intValue() >> 16);
      value[1] = (byte) (n.intValue() >> 8);
      return new Tuple2<>((n * 0x9E3779B1 >>> 8) % 20_000, value);
    });
    ShuffledRDD<Integer, byte[], byte[]> shuffled = RddOnBothEngines.shuffled(records, new HashPartitioner(1));
    return shuffled.setKeyOrdering(Ordering$.MODULE$.comparatorToOrdering(new ByThousands())).toJavaRDD()
        .map(record -> record._1() + " " + row(record._2())).collect();
  }

  private static int row(byte[] value) {
    byte last = value[VALUE_BYTES - 1];
    assertEquals(-1, Arrays.mismatch(value, 2, VALUE_BYTES, filled(last), 2, VALUE_BYTES));
    return (value[0] & 255) << 16 | (value[1] & 255) << 8 | last & 255;
  }

  private static byte[] filled(byte with) {
    byte[] value = new byte[VALUE_BYTES];
    Arrays.fill(value, with);
    return value;
  }

  /** Runs proven, partitions sorted as rows, partitions sorted as objects. */
  private static List<Long> counters() {
    return List.of(spark.counter(Counter.READ_RUNS_PROVEN), spark.counter(Counter.READ_PARTITIONS_SORTED_AS_ROWS),
        spark.counter(Counter.READ_PARTITIONS_SORTED_AS_OBJECTS));
  }

  @InAll
  @Test
  void beyondTheMostRunsSparksSorterTakesOver() {
    List<Long> before = counters();
    spark.assertSame(context -> sorted(ROWS_OF_MANY_RUNS));
    assertEquals(List.of(before.get(0) + MOST_RUNS, before.get(1), before.get(2) + 1), counters());
    assertEquals(List.of(), ShuffleFiles.named("temp_local_"));
  }

  @Test
  void fewerRunsAreMerged() {
    List<Long> before = counters();
    spark.assertSame(context -> sorted(ROWS_OF_FEWER_RUNS));
    List<Long> after = counters();
    assertEquals(List.of(before.get(1) + 1, before.get(2)), after.subList(1, 3));
    long runs = after.get(0) - before.get(0);
    assertEquals(Math.max(MOST_RUNS / 2, Math.min(runs, MOST_RUNS)), runs, "runs");
    assertEquals(List.of(), ShuffleFiles.named("temp_local_"));
  }
}
