package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.InAll;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.ShuffleFiles;
import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.memory.HeapQuota;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.RowKey;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;

/** A sorter that guesses gives what a stable sort by the comparator gives, or says that it cannot. */
@Timeout(180)
class ProvenSorterTest {
  private static final int ROWS = 80_000;
  private static final long PLENTY = 64 << 20;
  /** All rows and what sorting them takes are some 12 MB. */
  private static final long ROOM_FOR_A_PART = 5_000_000;
  private static LocalSpark spark;

  @BeforeAll
  static void start() {
    // So that a reader takes 2 MiB: runs must be as large.
    spark = LocalSpark.start(Map.of("spark.unsafe.sorter.spill.read.ahead.enabled", "false"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private static <T> T inTask(Function<TaskContext, T> body) {
    return InTask.run(spark, body);
  }

  /** Counts its calls. */
  private static final class Counting<K> implements Comparator<K> {
    private final Comparator<K> comparator;
    private long calls;

    Counting(Comparator<K> comparator) {
      this.comparator = comparator;
    }

    @Override
    public int compare(K left, K right) {
      calls++;
      return comparator.compare(left, right);
    }
  }

  /**
   * Records whose values are their numbers, sorted.
   *
   * @param values in order, or empty when the sorter could not sort all
   * @param taken what it gave back then
   */
  private record Outcome(Optional<List<Integer>> values, List<Integer> taken, long calls, Counters counters) {}

  private static <K> Outcome sort(IntFunction<K> keys, Comparator<K> order, long residentBytes) {
    return inTask(context -> sort(context, keys, order, residentBytes));
  }

  private static <K> Outcome sort(TaskContext context, IntFunction<K> keys, Comparator<K> order, long residentBytes) {
    Counting<K> counting = new Counting<>(order);
    Counters counters = new Counters();
    TaskMemory memory = spark.manager().executorState().memory().of(context);
    ProvenSorter<K, Integer> sorter = null;
    RowKey key = new RowKey();
    RecordEncoder encoder = RecordEncoder.ofAllClasses();
    boolean all = true;
    int inserted = 0;
    for (; all && inserted < ROWS; inserted++) {
      assertTrue(encoder.encode(keys.apply(inserted), inserted));
      UnsafeRow row = new UnsafeRow(encoder.fields());
      row.pointTo(encoder.buffer(), encoder.length());
      key.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
      if (sorter == null) {
        sorter = new ProvenSorter<>(
            context, memory, residentBytes, counting, OrderGuess.of(key).orElseThrow(), counters, GpuPairSorter.NONE,
            () -> {});
      }
      all = sorter.insert(row, key);
    }
    Optional<Iterator<Product2<K, Integer>>> sorted = all ? sorter.sorted() : Optional.empty();
    List<Integer> taken = sorted.isPresent() ? List.of() : values(sorter.taken(), keys);
    Outcome outcome = new Outcome(sorted.map(records -> values(records, keys)), taken, counting.calls, counters);
    assertEquals(0, memory.heldBytes());
    assertEquals(List.of(), ShuffleFiles.named("temp_local_"));
    return outcome;
  }

  private static <K> List<Integer> values(Iterator<Product2<K, Integer>> records, IntFunction<K> keys) {
    List<Integer> values = new ArrayList<>();
    while (records.hasNext()) {
      Product2<K, Integer> record = records.next();
      K key = keys.apply(record._2());
      assertTrue(key instanceof byte[] bytes ? Arrays.equals(bytes, (byte[]) record._1()) : key.equals(record._1()));
      values.add(record._2());
    }
    return values;
  }

  private static <K> List<Integer> expected(IntFunction<K> keys, Comparator<K> order) {
    List<Integer> rows = new ArrayList<>(IntStream.range(0, ROWS).boxed().toList());
    rows.sort((left, right) -> order.compare(keys.apply(left), keys.apply(right)));
    return rows;
  }

  private static <K> void assertProven(IntFunction<K> keys, Comparator<K> order) {
    Outcome outcome = sort(keys, order, PLENTY);
    assertEquals(expected(keys, order), outcome.values().orElseThrow());
    assertTrue(outcome.calls() < ROWS + 100, outcome.calls() + " calls of the comparator");
    assertEquals(1, outcome.counters().get(Counter.READ_RUNS_PROVEN));
    Outcome merged = sort(keys, order, ROOM_FOR_A_PART);
    assertEquals(expected(keys, order), merged.values().orElseThrow());
    assertTrue(merged.counters().get(Counter.READ_RUNS_PROVEN) > 2, "all was one run");
  }

  /** All records come back, those with equal keys in the order in which they came. */
  private static <K> void assertRefuted(IntFunction<K> keys, Comparator<K> order) {
    for (long resident : new long[] {PLENTY, ROOM_FOR_A_PART}) {
      Outcome outcome = sort(keys, order, resident);
      assertFalse(outcome.values().isPresent());
      assertTrue(outcome.counters().get(Counter.READ_RUNS_REFUTED) > 0);
      List<Integer> taken = new ArrayList<>(outcome.taken());
      assertEquals(taken.size(), taken.stream().distinct().count());
      List<Integer> all = IntStream.range(0, taken.size()).boxed().toList();
      assertEquals(all, taken.stream().sorted().toList());
      taken.sort((left, right) -> order.compare(keys.apply(left), keys.apply(right)));
      List<Integer> stable = new ArrayList<>(all);
      stable.sort((left, right) -> order.compare(keys.apply(left), keys.apply(right)));
      assertEquals(stable, taken);
    }
  }

  private static int mixed(int n) {
    return new Random(n).nextInt();
  }

  private static byte[] bytes(int n) {
    Random random = new Random(n);
    byte[] bytes = new byte[random.nextInt(20)];
    random.nextBytes(bytes);
    for (int i = 0; i < bytes.length; i++) {
      // Many keys that begin alike, and many of the least and the greatest byte.
      bytes[i] = random.nextBoolean() ? (byte) (bytes[i] & 1) : random.nextBoolean() ? -128 : bytes[i];
    }
    return bytes;
  }

  @InAll
  @Test
  void bytesInAnyUsualOrder() {
    assertProven(ProvenSorterTest::bytes, (left, right) -> Arrays.compareUnsigned(left, right));
    assertProven(ProvenSorterTest::bytes, (left, right) -> Arrays.compareUnsigned(right, left));
    assertProven(ProvenSorterTest::bytes, (left, right) -> Arrays.compare(left, right));
    assertProven(ProvenSorterTest::bytes, (left, right) -> Arrays.compare(right, left));
  }

  @Test
  void numbersInAnyUsualOrder() {
    assertProven(ProvenSorterTest::mixed, (left, right) -> Integer.compare(left, right));
    assertProven(ProvenSorterTest::mixed, (left, right) -> Integer.compare(right, left));
    assertProven(ProvenSorterTest::mixed, (left, right) -> Integer.compareUnsigned(left, right));
    assertProven(i -> (long) mixed(i) << 32 | i, (left, right) -> Long.compareUnsigned(right, left));
  }

  @Test
  void smallNumbersAndCharactersInAnyUsualOrder() {
    assertProven(i -> (byte) mixed(i), (left, right) -> Byte.compare(left, right));
    assertProven(i -> (byte) mixed(i), (left, right) -> Byte.compareUnsigned(right, left));
    assertProven(i -> (short) mixed(i), (left, right) -> Short.compare(right, left));
    assertProven(i -> (short) mixed(i), (left, right) -> Short.compareUnsigned(left, right));
    assertProven(i -> (char) mixed(i), (left, right) -> Character.compare(left, right));
    assertProven(i -> (char) mixed(i), (left, right) -> Character.compare(right, left));
  }

  @Test
  void textInItsNaturalOrder() {
    assertProven(i -> "https://example.org/" + mixed(i) % 3000 + "/page", (left, right) -> left.compareTo(right));
    assertProven(i -> (i % 2 == 0 ? "\u4E16\u754C" : "a") + mixed(i) % 3000, (left, right) -> right.compareTo(left));
  }

  /** Of three levels; the sample says nothing of the last. */
  private static Tuple2<Integer, Tuple3<String, Long, BigDecimal>> nested(int n) {
    return new Tuple2<>((n * 0x9E3779B1 >>> 8) % 10, new Tuple3<>("key " + (n * 0x85EBCA6B >>> 9) % 50,
        (long) (n * 0xC2B2AE35 >>> 10) % 20, BigDecimal.valueOf(n * 0x27D4EB2F, 3)));
  }

  private static Comparator<Tuple2<Integer, Tuple3<String, Long, BigDecimal>>> byParts(int a, int b, int c, int d) {
    return (left, right) -> {
      int order = a * left._1().compareTo(right._1());
      order = order != 0 ? order : b * left._2()._1().compareTo(right._2()._1());
      order = order != 0 ? order : c * left._2()._2().compareTo(right._2()._2());
      return order != 0 ? order : d * left._2()._3().compareTo(right._2()._3());
    };
  }

  private static final Comparator<Tuple2<Integer, Tuple3<String, Long, BigDecimal>>> BY_THIRD_AND_SECOND =
      (left, right) -> {
        int order = right._2()._2().compareTo(left._2()._2());
        return order != 0 ? order : left._2()._1().compareTo(right._2()._1());
      };

  @InAll
  @Test
  void tuplesWithinTuplesInAnyDirectionOfTheirParts() {
    for (int directions = 0; directions < 16; directions += 5) {
      int d = directions;
      assertFewCalls(ProvenSorterTest::nested,
          byParts((d & 1) * 2 - 1, (d >> 1 & 1) * 2 - 1, (d >> 2 & 1) * 2 - 1, (d >> 3) * 2 - 1));
    }
  }

  /** In another sequence than that of the parts, or by one part only. */
  @InAll
  @Test
  void someOfTheParts() {
    assertFewCalls(ProvenSorterTest::nested, BY_THIRD_AND_SECOND);
    assertFewCalls(ProvenSorterTest::nested, (left, right) -> right._2()._3().compareTo(left._2()._3()));
    assertFewCalls(ProvenSorterTest::nested, byParts(0, 1, 0, 0));
    assertFewCalls(ProvenSorterTest::nested, byParts(0, 0, 0, 0));
  }

  @InAll
  @Test
  void writablesDatesAndDecimals() {
    assertFewCalls(i -> new Text("key " + mixed(i) % 5000), (left, right) -> right.compareTo(left));
    assertFewCalls(i -> new Text("key " + mixed(i) % 5000),
        (left, right) -> left.toString().compareTo(right.toString()));
    assertFewCalls(i -> new LongWritable(mixed(i)), (left, right) -> right.compareTo(left));
    assertFewCalls(i -> new DoubleWritable(mixed(i) / 7.0), (left, right) -> left.compareTo(right));
    assertFewCalls(i -> new BytesWritable(bytes(i)), (left, right) -> left.compareTo(right));
    assertFewCalls(i -> LocalDate.ofEpochDay(mixed(i) % 10_000), (left, right) -> right.compareTo(left));
    assertFewCalls(i -> Instant.ofEpochSecond(mixed(i) % 100, mixed(i) & 0xFFFFF),
        (left, right) -> right.compareTo(left));
    assertFewCalls(i -> BigInteger.valueOf(mixed(i)).pow(1 + i % 5), (left, right) -> left.compareTo(right));
    assertFewCalls(i -> new BigDecimal(BigInteger.valueOf(mixed(i) % 1000).pow(1 + i % 9), i % 40),
        (left, right) -> right.compareTo(left));
    assertFewCalls(i -> mixed(i) > 0, (left, right) -> Boolean.compare(right, left));
  }

  /** More calls than for one part, for what the sample does not say. */
  private static <K> void assertFewCalls(IntFunction<K> all, Comparator<K> order) {
    IntFunction<K> keys = IntStream.range(0, ROWS).mapToObj(all).toList()::get;
    for (long resident : new long[] {PLENTY, ROOM_FOR_A_PART}) {
      Outcome outcome = sort(keys, order, resident);
      assertEquals(expected(keys, order), outcome.values().orElseThrow());
      if (resident == PLENTY) {
        assertTrue(outcome.calls() < 4 * ROWS, outcome.calls() + " calls of the comparator");
        assertEquals(1, outcome.counters().get(Counter.READ_RUNS_PROVEN));
      }
    }
  }

  /** Keys that are equal for the comparator differ, and keep the order in which they came. */
  @Test
  void comparatorsThatLookAtAPartOfTheKey() {
    assertProven(ProvenSorterTest::mixed, (left, right) -> Integer.compare(left / 1_000_000, right / 1_000_000));
    assertProven(i -> "key " + mixed(i), (left, right) -> left.substring(0, 6).compareTo(right.substring(0, 6)));
    assertProven(ProvenSorterTest::mixed, (left, right) -> 0);
    assertProven(i -> new String(bytes(i), StandardCharsets.ISO_8859_1),
        (left, right) -> Boolean.compare(left.isEmpty(), right.isEmpty()) * -1);
  }

  @Test
  void otherOrdersAreRefuted() {
    assertRefuted(ProvenSorterTest::mixed,
        (left, right) -> Integer.compareUnsigned(Integer.reverse(left), Integer.reverse(right)));
    assertRefuted(i -> "key " + mixed(i) % 1000, Comparator.comparingInt(String::length).thenComparing(text -> text));
    assertRefuted(ProvenSorterTest::bytes, Comparator.comparingInt(bytes -> bytes.length));
  }

  /** The sample does not show it: one key of all is out of the order. */
  @Test
  void oneKeyThatIsElsewhereRefutesTheGuess() {
    int odd = mixed(777);
    Comparator<Integer> order = Comparator.<Integer, Boolean>comparing(n -> n == odd).thenComparing(n -> n);
    assertRefuted(ProvenSorterTest::mixed, order);
  }

  /** What is no order gives some order of all records, as with any sort. */
  @Test
  void comparatorsThatContradictThemselvesLoseNothing() {
    Random coin = new Random(1);
    List<Comparator<Integer>> comparators = List.of((left, right) -> coin.nextInt(3) - 1, (left, right) -> 1,
        (left, right) -> -1, (left, right) -> (int) (System.nanoTime() % 3) - 1);
    for (Comparator<Integer> comparator : comparators) {
      for (long resident : new long[] {PLENTY, ROOM_FOR_A_PART}) {
        Outcome outcome = sort(ProvenSorterTest::mixed, comparator, resident);
        List<Integer> records = outcome.values().orElse(outcome.taken());
        List<Integer> all = IntStream.range(0, records.size()).boxed().toList();
        assertEquals(all, records.stream().sorted().toList());
        assertTrue(!outcome.values().isPresent() || records.size() == ROWS);
      }
    }
  }

  @Test
  void anExceptionOfTheComparatorIsNotCaught() {
    Comparator<Integer> throwing = (left, right) -> {
      throw new IllegalStateException("not today");
    };
    Exception failure = assertThrows(Exception.class, () -> sort(ProvenSorterTest::mixed, throwing, PLENTY));
    assertTrue(failure.toString().contains("not today"), failure::toString);
  }

  /** A run would be smaller than what its reader takes. */
  @Test
  void runsAreAtLeastAsLargeAsTheirReaders() {
    long room = SpilledRun.bufferBytes() + (1 << 20) - 1;
    Outcome outcome = sort(ProvenSorterTest::mixed, Comparator.naturalOrder(), room);
    assertFalse(outcome.values().isPresent());
    assertEquals(0, outcome.counters().get(Counter.READ_RUNS_PROVEN));
  }

  /** Spark has memory for the readers of one run. */
  @Test
  void withoutMemoryForReadersItTakesNoMore() {
    long readerBytes = SpilledRun.bufferBytes() + (1 << 20);
    Outcome outcome = inTask(context -> {
      HeapQuota others = new HeapQuota(context.taskMemoryManager());
      while (others.cover(others.getUsed() + 1)) {
        // Takes all there is, a step at a time.
      }
      others.release(readerBytes);
      try {
        return sort(context, ProvenSorterTest::mixed, Comparator.naturalOrder(), ROOM_FOR_A_PART);
      } finally {
        others.release();
      }
    });
    assertFalse(outcome.values().isPresent());
    assertEquals(1, outcome.counters().get(Counter.READ_RUNS_PROVEN));
    assertEquals(IntStream.range(0, outcome.taken().size()).boxed().toList(),
        outcome.taken().stream().sorted().toList());
  }

  /** Runs would be too small. */
  @Test
  void withLittleMemoryItTakesNoMore() {
    Outcome outcome = sort(ProvenSorterTest::mixed, Comparator.naturalOrder(), 300_000);
    assertFalse(outcome.values().isPresent());
    assertEquals(IntStream.range(0, outcome.taken().size()).boxed().toList(), outcome.taken());
    assertEquals(0, outcome.counters().get(Counter.READ_RUNS_PROVEN));
  }
}
