package io.sluice.spark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.VariantsInAll;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.collection.Iterator;

/**
 * Rows come in exactly the order in which Spark's own sorter returns them: every type, direction and place of nulls.
 */
@Timeout(300)
class BinaryRowSorterTest {
  private static final int ROWS = 3_000;
  private static final int MANY_COLUMNS = 25;
  private static LocalSpark spark;
  private static Dataset<Row> table;
  /** Columns whose values differ in few bits. */
  private static Dataset<Row> narrow;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.sluice.enabled", "true", TypedRows.TIME_SETTING, "true",
        // So that each order's comparison is compiled once for all tests.
        "spark.sql.codegen.cache.maxEntries", "2000"));
    table = TypedRows.table(spark.session(), ROWS);
    narrow = spark.session().range(0, ROWS, 1, 1).selectExpr("id", "pmod(xxhash64(id), 50L) AS c0",
        "CAST(IF(id % 7 = 0, NULL, pmod(hash(id), 20) - 9) AS INT) AS c1", "pmod(hash(id, 1), 5) < 2 AS c2",
        "IF(id % 5 = 0, NULL, pmod(hash(id, 2), 9) - 1000000000000L) AS c3", "concat('x', pmod(hash(id, 3), 3)) AS c4",
        "date_add(DATE'2020-01-01', pmod(hash(id, 4), 700)) AS c5",
        "CAST(IF(id % 3 = 0, NULL, id % 4) AS DECIMAL(9, 2)) AS c6", "pmod(hash(id, 5), 2) * 1e300 AS c7",
        // Many begin with the same bytes, some end with them.
        "concat('customers/name_', pmod(xxhash64(id), 700L)) AS c8",
        "IF(id % 4 = 0, NULL, concat('0123456789abcdefghi', "
            + "IF(id % 3 = 0, '', CAST(pmod(hash(id, 6), 300) AS STRING)))) AS c9",
        // Short ones; some are others with zeros behind them.
        "IF(id % 5 = 0, NULL, concat('item-', pmod(hash(id, 7), 40))) AS c10",
        "IF(id % 6 = 0, NULL, concat('ab', repeat(decode(X'00', 'utf-8'), pmod(hash(id, 8), 4)))) AS c11",
        "element_at(array('AT', 'CH', 'DE', 'FR'), CAST(pmod(hash(id, 9), 4) + 1 AS INT)) AS c12",
        "unhex(concat('00', lpad(hex(pmod(hash(id, 10), 20)), 2, '0'), '0000')) AS c13",
        "CAST(pmod(hash(id, 11), 30) - 9 AS DECIMAL(30, 2)) AS c14");
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  static Stream<Arguments> orders() {
    List<Arguments> orders = new ArrayList<>();
    for (int i = 0; i < TypedRows.TYPES.size(); i++) {
      for (String kind : List.of("n", "v")) {
        Column column = functions.col(kind + i);
        for (Column order : List.of(column.asc(), column.desc(), column.asc_nulls_last(), column.desc_nulls_first())) {
          orders.add(Arguments.of(order.toString(), new Column[] {order}));
        }
      }
    }
    Random random = new Random(7);
    Stream<Arguments> several = severalColumns(
        random, () -> (random.nextBoolean() ? "n" : "v") + random.nextInt(TypedRows.TYPES.size()));
    return Stream.concat(orders.stream(), several);
  }

  /** A third of them: each type in some direction, with nulls and without. */
  static Stream<Arguments> someOrders() {
    List<Arguments> orders = orders().toList();
    return IntStream.range(0, orders.size()).filter(i -> i % 3 == 0).mapToObj(orders::get);
  }

  static Stream<Arguments> narrowOrders() {
    Random random = new Random(8);
    return severalColumns(random, () -> "c" + random.nextInt(15));
  }

  private static Stream<Arguments> severalColumns(Random random, Supplier<String> name) {
    List<Arguments> orders = new ArrayList<>();
    for (int i = 0; i < MANY_COLUMNS; i++) {
      Column[] columns = new Column[2 + random.nextInt(4)];
      for (int at = 0; at < columns.length; at++) {
        Column column = functions.col(name.get());
        columns[at] = switch (random.nextInt(4)) {
          case 0 -> column.asc();
          case 1 -> column.desc();
          case 2 -> column.asc_nulls_last();
          default -> column.desc_nulls_first();
        };
      }
      orders.add(Arguments.of(List.of(columns).toString(), columns));
    }
    return orders.stream();
  }

  /** What happens to the sorter under test. */
  private enum Memory { ENOUGH, SPILLS, SPILLED_WHILE_READ }

  /** Sorts one partition by both sorters, in a task. */
  private record BothSorters(SortExec stock, RowOrder order, boolean radixSort, Memory memory, int count)
      implements
        Serializable {
    private static BothSorters of(Column[] columns, Memory memory) {
      return of(table, columns, memory, ROWS);
    }

    private static BothSorters of(Dataset<Row> data, Column[] columns, Memory memory, int count) {
      SortExec stock = (SortExec) data.sortWithinPartitions(columns).queryExecution().sparkPlan();
      return new BothSorters(stock, orderOf(stock), stock.conf().enableRadixSort(), memory, count);
    }

    private static RowOrder orderOf(SortExec sort) {
      List<SortColumn> columns = new ArrayList<>();
      for (int i = 0; i < sort.sortOrder().length(); i++) {
        SortOrder order = sort.sortOrder().apply(i);
        AttributeReference key = (AttributeReference) order.child();
        int ordinal = 0;
        while (!sort.output().apply(ordinal).exprId().equals(key.exprId())) {
          ordinal++;
        }
        Optional<SortColumn> column = SortColumn.of(key.dataType(), ordinal, key.nullable(),
            order.direction() != Ascending$.MODULE$, order.nullOrdering() == NullsFirst$.MODULE$);
        columns.add(column.orElseThrow());
      }
      return new ColumnOrder(columns, sort.output().length());
    }

    /** The ids of the rows in the order of stock's sorter, then in that of the other; and whether that has spilled. */
    private List<Long> ids() {
      return stock.child().execute().toJavaRDD().mapPartitions(rows -> {
        List<UnsafeRow> copies = new ArrayList<>();
        rows.forEachRemaining(row -> copies.add(((UnsafeRow) row).copy()));
        List<Long> ids = new ArrayList<>();
        UnsafeExternalRowSorter stocks = stock.createSorter();
        for (UnsafeRow row : copies) {
          stocks.insertRow(row);
        }
        Iterator<InternalRow> expected = stocks.sort();
        while (expected.hasNext()) {
          ids.add(expected.next().getLong(0));
        }
        long spilledBefore = TaskContext.get().taskMetrics().diskBytesSpilled();
        BinaryRowSorter sorter =
            BinaryRowSorter.create(order, radixSort, memory == Memory.SPILLS ? count / 7 : count + 1);
        for (UnsafeRow row : copies) {
          sorter.insertRow(row);
        }
        Iterator<UnsafeRow> sorted = sorter.sort();
        while (sorted.hasNext()) {
          ids.add(sorted.next().getLong(0));
          if (ids.size() == count + count / 3 && memory == Memory.SPILLED_WHILE_READ) {
            assertTrue(sorter.spill(1, new Other()) > 0);
          }
        }
        assertEquals(memory != Memory.ENOUGH, TaskContext.get().taskMetrics().diskBytesSpilled() > spilledBefore);
        assertEquals(0, sorter.getUsed());
        return ids.iterator();
      }).collect();
    }
  }

  private static final class Other extends MemoryConsumer {
    Other() {
      super(TaskContext.get().taskMemoryManager(), 1 << 20, MemoryMode.ON_HEAP);
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) {
      return 0;
    }
  }

  @VariantsInAll(oneOf = 4)
  @ParameterizedTest(name = "{0}")
  @MethodSource("orders")
  void rowsComeInStocksOrder(String name, Column[] columns) {
    List<Long> ids = BothSorters.of(columns, Memory.ENOUGH).ids();
    assertEquals(2 * ROWS, ids.size());
    assertEquals(ids.subList(0, ROWS), ids.subList(ROWS, 2 * ROWS));
  }

  /** Rows with a null are not kept apart from the others then, so that equal rows come in another order. */
  @VariantsInAll(oneOf = 6)
  @ParameterizedTest(name = "{0}")
  @MethodSource("someOrders")
  void rowsComeInTheOrderOfSparksComparisonSort(String name, Column[] columns) {
    spark.session().conf().set("spark.sql.sort.enableRadixSort", "false");
    try {
      BothSorters both = BothSorters.of(columns, Memory.ENOUGH);
      assertFalse(both.radixSort());
      List<Long> ids = both.ids();
      assertEquals(ids.subList(0, ROWS), ids.subList(ROWS, 2 * ROWS));
    } finally {
      spark.session().conf().unset("spark.sql.sort.enableRadixSort");
    }
  }

  @VariantsInAll(oneOf = 4)
  @ParameterizedTest(name = "{0}")
  @MethodSource("narrowOrders")
  void columnsOfFewBitsComeInStocksOrder(String name, Column[] columns) {
    for (Memory memory : List.of(Memory.ENOUGH, Memory.SPILLED_WHILE_READ)) {
      List<Long> ids = BothSorters.of(narrow, columns, memory, ROWS).ids();
      assertEquals(2 * ROWS, ids.size());
      assertEquals(ids.subList(0, ROWS), ids.subList(ROWS, 2 * ROWS));
    }
  }

  @VariantsInAll(oneOf = 6)
  @ParameterizedTest(name = "{0}")
  @MethodSource("someOrders")
  void rowsThatAreSpilledWhileReadComeInStocksOrder(String name, Column[] columns) {
    List<Long> ids = BothSorters.of(columns, Memory.SPILLED_WHILE_READ).ids();
    assertEquals(ids.subList(0, ROWS), ids.subList(ROWS, 2 * ROWS));
  }

  /** With a second key that tells all rows apart, because Spark's order of equal rows depends on where it spills. */
  @VariantsInAll(oneOf = 6)
  @ParameterizedTest(name = "{0}")
  @MethodSource("someOrders")
  void spilledRunsAreMergedInOrder(String name, Column[] columns) {
    Column[] unique = Stream.concat(Stream.of(columns), Stream.of(functions.col("id"))).toArray(Column[]::new);
    List<Long> ids = BothSorters.of(unique, Memory.SPILLS).ids();
    assertEquals(ids.subList(0, ROWS), ids.subList(ROWS, 2 * ROWS));
    List<Long> one = BothSorters.of(columns, Memory.SPILLS).ids();
    List<Long> all = new ArrayList<>(one.subList(ROWS, 2 * ROWS));
    Collections.sort(all);
    for (long id = 0; id < ROWS; id++) {
      assertEquals(id, all.get((int) id));
    }
  }

  /** Hundreds of kilobytes that are equal, in all rows or up to a place where half of them differ, again and again. */
  @ParameterizedTest
  @ValueSource(strings = {"repeat('a', 300000)", "concat(repeat('a', 200000), id % 7)",
    "concat(repeat('a', 8 * (id div 2)), repeat('b', 1000 + 8 * (200 - id div 2)))"})
  void longEqualValuesAreSorted(String text) {
    Dataset<Row> rows = spark.session().range(0, 200, 1, 1).selectExpr("id", text + " AS text").coalesce(1);
    Column[] columns = {functions.col("text"), functions.col("id").desc()};
    List<Long> ids = BothSorters.of(rows, columns, Memory.ENOUGH, 200).ids();
    assertEquals(ids.subList(0, 200), ids.subList(200, 400));
  }

  /** Spark's hash maps go on when another operator of their task cannot spill. */
  @Test
  void aSpillThatFailsLosesNoRow() {
    List<List<Long>> values = spark.session().range(0, 1, 1, 1).toJavaRDD().mapPartitions(ignored -> {
      SortColumn column = SortColumn.of(DataTypes.LongType, 0, false, false, true).orElseThrow();
      BinaryRowSorter sorter = BinaryRowSorter.create(new ColumnOrder(List.of(column), 1), true);
      UnsafeRow row = new UnsafeRow(1);
      row.pointTo(new byte[16], 16);
      for (long i = 0; i < ROWS; i++) {
        row.setLong(0, ROWS - 1 - i);
        sorter.insertRow(row);
      }
      Iterator<UnsafeRow> sorted = sorter.sort();
      List<Long> read = new ArrayList<>();
      while (sorted.hasNext()) {
        read.add(sorted.next().getLong(0));
        if (read.size() == ROWS / 3) {
          // An interrupted thread cannot write to a file.
          Thread.currentThread().interrupt();
          assertThrows(IOException.class, () -> sorter.spill(1, new Other()));
          assertTrue(Thread.interrupted());
        }
      }
      return List.of(read).iterator();
    }).collect();
    assertEquals(LongStream.range(0, ROWS).boxed().toList(), values.get(0));
  }

  @Test
  void noRowsNoMemory() {
    List<Boolean> more = spark.session().range(1).toJavaRDD().mapPartitions(ignored -> {
      SortColumn column = SortColumn.of(DataTypes.LongType, 0, false, false, true).orElseThrow();
      BinaryRowSorter sorter = BinaryRowSorter.create(new ColumnOrder(List.of(column), 1), true);
      boolean any = sorter.sort().hasNext();
      assertEquals(0, sorter.getUsed());
      return List.of(any).iterator();
    }).collect();
    assertFalse(more.contains(true));
  }

  @Test
  void afterCleanUpThereAreNoRows() {
    List<Boolean> more = spark.session().range(1).toJavaRDD().mapPartitions(ignored -> {
      SortColumn column = SortColumn.of(DataTypes.LongType, 0, false, false, true).orElseThrow();
      BinaryRowSorter sorter = BinaryRowSorter.create(new ColumnOrder(List.of(column), 1), true);
      UnsafeRow row = new UnsafeRow(1);
      row.pointTo(new byte[16], 16);
      sorter.insertRow(row);
      sorter.insertRow(row);
      Iterator<UnsafeRow> sorted = sorter.sort();
      assertTrue(sorted.hasNext());
      sorter.cleanupResources();
      assertEquals(0, sorter.getUsed());
      return List.of(sorted.hasNext()).iterator();
    }).collect();
    assertFalse(more.contains(true));
  }
}
