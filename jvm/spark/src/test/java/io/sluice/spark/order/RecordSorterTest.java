package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.primitives.UnsignedBytes;
import io.sluice.spark.InAll;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.SluiceException;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.gpu.TestGpu;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.RowKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Sorting as rows equals a stable sort of the records by the comparator, in Sluice's memory and in Spark's sorter.
 */
@Timeout(180)
class RecordSorterTest {
  private static final int ROWS = 20_000;
  private static final long PLENTY = 64 << 20;
  private static final int NO_ROOM_FOR_ROWS = 600_000;
  private static final int NO_ROOM_TO_SORT = 2_400_000;
  private static LocalSpark spark;
  /** That of the sorters; null for none. */
  private static ExecutorGpu gpu;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.sluice.enabled", "true"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  /** Records to sort: their keys, and as values their numbers. */
  private record Case<K>(IntFunction<K> keys, Comparator<K> ordering) {

    List<Integer> expected() {
      List<Integer> rows = new ArrayList<>(IntStream.range(0, ROWS).boxed().toList());
      rows.sort((left, right) -> ordering.compare(keys.apply(left), keys.apply(right)));
      return rows;
    }

    /** @param resident whether the rows must be where they were put, or must have moved to Spark's sorter */
    Iterator<Product2<K, Integer>> sorted(TaskContext context, long residentBytes, boolean resident) {
      try {
        TaskMemory memory = spark.manager().executorState().memory().of(context);
        RowKey key = new RowKey();
        RecordEncoder encoder = new RecordEncoder();
        RecordSorter<K, Integer> sorter = null;
        for (int i = 0; i < ROWS; i++) {
          assertTrue(encoder.encode(keys.apply(i), i));
          UnsafeRow row = new UnsafeRow(encoder.fields());
          row.pointTo(encoder.buffer(), encoder.length());
          key.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
          if (sorter == null) {
            sorter = new RecordSorter<>(context, memory, residentBytes, KeyOrders.of(ordering, key).orElseThrow(),
                new Counters(), GpuPairSorter.of(Optional.ofNullable(gpu), context));
          }
          assertTrue(sorter.insert(row, key));
        }
        Iterator<Product2<K, Integer>> sorted = sorter.sorted().orElseThrow();
        assertEquals(resident, sorter.isResident());
        return sorted;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** The values in the sorter's order; all memory must be free when the last one was returned. */
    List<Integer> values(TaskContext context, long residentBytes, boolean resident) {
      List<Integer> values = new ArrayList<>();
      Iterator<Product2<K, Integer>> records = sorted(context, residentBytes, resident);
      while (records.hasNext()) {
        Product2<K, Integer> record = records.next();
        assertEquals(0, ordering.compare(keys.apply(record._2()), record._1()));
        values.add(record._2());
      }
      assertEquals(0, spark.manager().executorState().memory().of(context).heldBytes());
      return values;
    }
  }

  private static <T> T inTask(Function<TaskContext, T> body) {
    return InTask.run(spark, body);
  }

  private static void assertSorts(Case<?> sort) {
    assertSorts(sort, PLENTY, true);
  }

  private static void assertSorts(Case<?> sort, long residentBytes, boolean resident) {
    assertEquals(sort.expected(), inTask(context -> sort.values(context, residentBytes, resident)));
  }

  private static int mixed(int n) {
    return new Random(n).nextInt();
  }

  /** Many equal numbers, so that runs are sorted by the next bytes too: by the GPU those that are large enough. */
  @Test
  void aGpuSortsWhatItTakes() {
    Case<String> texts = new Case<>(n -> "prefix-" + Math.floorMod(mixed(n / 3), 5) + "-behind it " + mixed(n / 3),
        Comparator.<String>naturalOrder());
    for (TestGpu.Sorts does : TestGpu.Sorts.values()) {
      TestGpu device = new TestGpu(1000 * 16).sorting(does);
      gpu = device.open(GpuUse.ON, new Counters());
      try {
        assertSorts(texts);
        List<Integer> counts = device.sorts();
        assertTrue(counts.get(0) == ROWS && counts.size() > 1, counts::toString);
        assertTrue(counts.stream().allMatch(count -> count >= 1000), counts::toString);
        assertEquals(does == TestGpu.Sorts.ALL ? 0 : counts.size(), device.sortsByTasks().size());
      } finally {
        gpu.close();
        gpu = null;
      }
    }
  }

  @Test
  void numbersWithManyEqualKeys() {
    assertSorts(new Case<>(i -> mixed(i) % 100, Comparator.<Integer>naturalOrder()));
    assertSorts(new Case<>(i -> (long) mixed(i) % 100, Comparator.<Long>naturalOrder().reversed()));
  }

  @Test
  void stringsWithLongCommonPrefixes() {
    assertSorts(new Case<>(i -> "https://example.org/" + mixed(i) % 3000 + "/page", Comparator.<String>naturalOrder()));
    assertSorts(new Case<>(i -> "https://example.org/".repeat(20) + mixed(i) % 3000,
        Comparator.<String>naturalOrder().reversed()));
  }

  @Test
  void latinAndOtherStringsWithCommonPrefixes() {
    String[] parts = {"", "a", "abcdefgh", "\u00FF", "\u0416", "\u0000", "abcdefg\u00FF", "abcdefgh\uD800"};
    IntFunction<String> keys = i -> {
      Random random = new Random(i);
      return parts[random.nextInt(parts.length)] + parts[random.nextInt(parts.length)]
          + parts[random.nextInt(parts.length)];
    };
    assertSorts(new Case<>(keys, Comparator.<String>naturalOrder()));
    assertSorts(new Case<>(keys, Comparator.<String>naturalOrder().reversed()));
  }

  /** Of the first eight characters there are 1 to 199 keys each; in the next eight some of them differ, some behind. */
  @InAll
  @Test
  void runsOfEveryLength() {
    IntFunction<String> keys = i -> {
      Random random = new Random(i);
      int run = (int) Math.sqrt(2 * random.nextInt(ROWS));
      return String.format("run %04d", run) + "abcdefgh".substring(random.nextInt(8)) + random.nextInt(13);
    };
    assertSorts(new Case<>(keys, Comparator.<String>naturalOrder()));
    assertSorts(new Case<>(keys, Comparator.<String>naturalOrder().reversed()));
    assertSorts(new Case<>(i -> keys.apply(i).replace('a', '\u00FF').getBytes(StandardCharsets.UTF_8),
        UnsignedBytes.lexicographicalComparator()));
    assertSorts(new Case<>(i -> keys.apply(i).replace('b', '\u0416'), Comparator.<String>naturalOrder()));
  }

  @Test
  void allKeysEqual() {
    assertSorts(new Case<>(i -> "the same, longer than a number", Comparator.<String>naturalOrder()));
  }

  @Test
  void stringsWithoutLatinLetters() {
    assertSorts(
        new Case<>(i -> "\u041F\u0440\u0438\u0432\u0435\u0442 " + mixed(i) % 3000, Comparator.<String>naturalOrder()));
    assertSorts(new Case<>(i -> i % 2 == 0 ? "\u4E16\u754C" + mixed(i) % 3000 : "a" + mixed(i) % 7,
        Comparator.<String>reverseOrder()));
    assertSorts(new Case<>(i -> i % 2 == 1 ? "\u4E16\u754C" + mixed(i) % 3000 : "a" + mixed(i) % 7,
        Comparator.<String>naturalOrder()));
  }

  /**
   * Pages and references take 1.9 MB in the end, 2.2 MB when references have grown for the last time; sorting 0.6 MB
   * more.
   */
  @Test
  void withoutMemoryRowsAreSortedBySparksSorter() {
    Case<String> sort = new Case<>(RecordSorterTest::distinctText, Comparator.<String>naturalOrder());
    assertSorts(sort, 0, false);
    assertSorts(sort, NO_ROOM_FOR_ROWS, false);
    assertSorts(sort, NO_ROOM_TO_SORT, false);
  }

  private static String distinctText(int row) {
    return "key " + Integer.reverse(row);
  }

  @Test
  void byteArrays() {
    assertSorts(
        new Case<>(i -> distinctText(i).getBytes(StandardCharsets.UTF_8), UnsignedBytes.lexicographicalComparator()));
    assertSorts(new Case<>(i -> new byte[mixed(i) & 31], UnsignedBytes.lexicographicalComparator()));
  }

  /** PySpark's writer thread may read after the task's end; rows in freed memory would be garbage. */
  @Test
  void readingRecordsAfterTheTasksEndIsAnError() {
    Case<String> sort = new Case<>(RecordSorterTest::distinctText, Comparator.<String>naturalOrder());
    Iterator<Product2<String, Integer>> records = inTask(context -> {
      Iterator<Product2<String, Integer>> open = sort.sorted(context, PLENTY, true);
      open.next();
      return open;
    });
    assertThrows(SluiceException.class, () -> {
      while (records.hasNext()) {
        records.next();
      }
    });
  }
}
