package io.sluice.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.VariantsInAll;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ExchangeMetrics;
import io.sluice.spark.sql.BinaryOrder;
import io.sluice.spark.sql.ColumnOrder;
import io.sluice.spark.sql.SortColumn;
import io.sluice.spark.sql.TypedRows;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning;
import org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec$;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.LongAccumulator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Product2;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Rows get the partitions that Spark's exchange gives them, in the same order: every type, null and number of
 * partitions, by hash, by range and in turn.
 */
@Timeout(300)
class PartitionedRowsTest {
  private static final int ROWS = 6_000;
  /** Of a map stage over the table. */
  private static final int TASKS = 2;
  /** Rows that tasks have taken since it was set to 0. */
  private static final AtomicInteger TAKEN = new AtomicInteger();
  private static LocalSpark spark;
  private static Dataset<Row> table;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of("spark.sluice.enabled", "true", "spark.sql.adaptive.enabled", "false",
        TypedRows.TIME_SETTING, "true",
        // All rows are sampled, so that bounds do not depend on the sample.
        "spark.sql.execution.rangeExchange.sampleSizePerPartition", "10000"));
    table = TypedRows.table(spark.session(), ROWS);
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  /** Ids of the rows, their partitions and what was counted. */
  private record Partitioned(List<Long> ids, List<Integer> partitions, long found, long asked, long refuted)
      implements
        Serializable {
    /** With those of the next task. */
    private Partitioned and(Partitioned next) {
      return new Partitioned(Stream.of(ids, next.ids).flatMap(List::stream).toList(),
          Stream.of(partitions, next.partitions).flatMap(List::stream).toList(),
          found + next.found, asked + next.asked, refuted + next.refuted);
    }
  }

  /** Runs over the pairs of one task as Spark's own writers do. */
  private static final class AsPairs<T> extends AbstractFunction1<Iterator<T>, Partitioned> implements Serializable {
    @Override
    public Partitioned apply(Iterator<T> pairs) {
      List<Long> ids = new ArrayList<>();
      List<Integer> partitions = new ArrayList<>();
      while (pairs.hasNext()) {
        Product2<?, ?> pair = (Product2<?, ?>) pairs.next();
        ids.add(((InternalRow) pair._2()).getLong(0));
        TAKEN.incrementAndGet();
        partitions.add((Integer) pair._1());
      }
      return new Partitioned(ids, partitions, 0, 0, 0);
    }
  }

  /** Runs over the rows of one task as Sluice's writer does. */
  private static final class AsRows<T> extends AbstractFunction1<Iterator<T>, Partitioned> implements Serializable {
    @Override
    public Partitioned apply(Iterator<T> pairs) {
      PartitionedRows<?> rows = (PartitionedRows<?>) pairs;
      List<Long> ids = new ArrayList<>();
      List<Integer> partitions = new ArrayList<>();
      while (rows.advance()) {
        ids.add(rows.row().getLong(0));
        TAKEN.incrementAndGet();
        partitions.add(rows.partition());
      }
      Counters counters = new Counters();
      rows.count(counters, null);
      return new Partitioned(ids, partitions, counters.get(Counter.WRITE_PARTITIONS_FOUND),
          counters.get(Counter.WRITE_PARTITIONS_ASKED), counters.get(Counter.WRITE_PARTITIONS_REFUTED));
    }
  }

  private static ShuffleExchangeExec exchange(Dataset<Row> data) {
    SparkPlan plan = data.queryExecution().executedPlan();
    return (ShuffleExchangeExec) plan;
  }

  private static Partitioned stocks(ShuffleExchangeExec exchange) {
    return run(exchange, exchange.child().execute(), new AsPairs<>());
  }

  private static Partitioned ours(ShuffleExchangeExec exchange, RowPartitioning partitioning) {
    return run(exchange, new ExchangeInput(exchange.child().execute(), partitioning), new AsRows<>());
  }

  private static Partitioned run(ShuffleExchangeExec exchange, RDD<InternalRow> input,
      AbstractFunction1<Iterator<Product2<Object, InternalRow>>, Partitioned> function) {
    Serializer serializer = new UnsafeRowSerializer(exchange.output().length(), null);
    RDD<Product2<Object, InternalRow>> pairs = ShuffleExchangeExec$.MODULE$.prepareShuffleDependency(
        input, exchange.child().output(), exchange.outputPartitioning(), serializer, exchange.metrics()).rdd();
    Partitioned[] results = (Partitioned[]) spark.session().sparkContext()
        .runJob(pairs, function, ClassTag$.MODULE$.apply(Partitioned.class));
    return Stream.of(results).reduce(Partitioned::and).orElseThrow();
  }

  private static void assertSame(ShuffleExchangeExec exchange, RowPartitioning partitioning, long mostAsked) {
    Partitioned expected = stocks(exchange);
    Partitioned actual = ours(exchange, partitioning);
    assertEquals(expected.ids(), actual.ids());
    assertEquals(expected.partitions(), actual.partitions());
    assertEquals(0, actual.refuted());
    assertEquals(ROWS, actual.found() + actual.asked());
    assertTrue(actual.asked() <= mostAsked, () -> actual.asked() + " rows were asked for");
  }

  private static int ordinal(ShuffleExchangeExec exchange, Expression column) {
    int ordinal = 0;
    while (!exchange.output().apply(ordinal).exprId().equals(((Attribute) column).exprId())) {
      ordinal++;
    }
    return ordinal;
  }

  private static RowPartitioning hash(ShuffleExchangeExec exchange) {
    HashPartitioning partitioning = (HashPartitioning) exchange.outputPartitioning();
    List<HashColumn> columns = new ArrayList<>();
    for (int i = 0; i < partitioning.expressions().length(); i++) {
      Attribute column = (Attribute) partitioning.expressions().apply(i);
      columns.add(HashColumn.of(column.dataType(), column.dataType(), ordinal(exchange, column), column.nullable())
          .orElseThrow());
    }
    return RowPartitioning.hash(columns, exchange.output().length(), partitioning.numPartitions());
  }

  /** By the expression that Spark evaluates for a hash, from a task's first row on. */
  private static RowPartitioning expression(ShuffleExchangeExec exchange) {
    return expression(exchange, 0);
  }

  private static RowPartitioning expression(ShuffleExchangeExec exchange, int firstRows) {
    HashPartitioning partitioning = (HashPartitioning) exchange.outputPartitioning();
    return expression(exchange, partitioning.partitionIdExpression(), firstRows);
  }

  private static RowPartitioning expression(ShuffleExchangeExec exchange, Expression partitionId, int firstRows) {
    return RowPartitioning.expression(BindReferences.bindReference(
        partitionId, package$.MODULE$.AttributeSeq(exchange.child().output()), false), firstRows);
  }

  private static RowPartitioning range(ShuffleExchangeExec exchange) {
    RangePartitioning partitioning = (RangePartitioning) exchange.outputPartitioning();
    List<SortColumn> columns = new ArrayList<>();
    for (int i = 0; i < partitioning.ordering().length(); i++) {
      SortOrder order = partitioning.ordering().apply(i);
      Attribute column = (Attribute) order.child();
      columns.add(SortColumn.of(column.dataType(), ordinal(exchange, column), column.nullable(),
          order.direction() != Ascending$.MODULE$, order.nullOrdering() == NullsFirst$.MODULE$).orElseThrow());
    }
    return RowPartitioning.range(new ColumnOrder(columns, exchange.output().length()), () -> null);
  }

  /** Spark's exchange wraps its input before it makes the shuffle, before a round robin twice. */
  @Test
  void theMetricsOfAnExchangeAreFoundFromItsShuffle() {
    for (Dataset<Row> data : List.of(table.repartition(7, table.col("id")),
        table.repartitionByRange(7, table.col("id")),
        table.repartition(1))) {
      ShuffleExchangeExec exchange = exchange(data);
      assertFoundFromShuffle(exchange, RowPartitioning.single());
    }
    ShuffleExchangeExec inTurn = exchange(table.repartition(7));
    assertFoundFromShuffle(inTurn, RowPartitioning.roundRobin(new BinaryOrder(inTurn.output().length()), 7));
  }

  private static void assertFoundFromShuffle(ShuffleExchangeExec exchange, RowPartitioning partitioning) {
    ExchangeMetrics metrics = ExchangeMetrics.create(spark.session().sparkContext());
    RDD<InternalRow> rows = exchange.child().execute();
    assertTrue(metrics == ExchangeInput.metricsOf(pairs(exchange, new ExchangeInput(rows, partitioning, metrics))));
    assertNull(ExchangeInput.metricsOf(pairs(exchange, rows)));
    assertNull(ExchangeInput.metricsOf(rows));
  }

  private static RDD<?> pairs(ShuffleExchangeExec exchange, RDD<InternalRow> input) {
    Serializer serializer = new UnsafeRowSerializer(exchange.output().length(), null);
    return ShuffleExchangeExec$.MODULE$.prepareShuffleDependency(
        input, exchange.child().output(), exchange.outputPartitioning(), serializer, exchange.metrics()).rdd();
  }

  /** Each column alone, then several at random. */
  static Stream<Arguments> columns() {
    List<Arguments> all = new ArrayList<>();
    for (int i = 0; i < TypedRows.TYPES.size(); i++) {
      for (String kind : List.of("n", "v")) {
        all.add(Arguments.of(kind + i, new Column[] {functions.col(kind + i)}));
      }
    }
    Random random = new Random(11);
    for (int i = 0; i < 20; i++) {
      Column[] columns = new Column[2 + random.nextInt(4)];
      for (int at = 0; at < columns.length; at++) {
        columns[at] = functions.col((random.nextBoolean() ? "n" : "v") + random.nextInt(TypedRows.TYPES.size()));
      }
      all.add(Arguments.of(List.of(columns).toString(), columns));
    }
    return all.stream();
  }

  @VariantsInAll(oneOf = 6)
  @ParameterizedTest(name = "{0}")
  @MethodSource("columns")
  void rowsHashedByColumnsHaveSparksPartitions(String name, Column[] columns) {
    for (int partitions : new int[] {2, 7, 200, 10_007}) {
      ShuffleExchangeExec exchange = exchange(table.repartition(partitions, columns));
      assertSame(exchange, hash(exchange), 64 * TASKS);
    }
  }

  /** As joins of columns of different types hash them. */
  @ParameterizedTest
  @CsvSource({"tinyint,smallint", "tinyint,int", "tinyint,bigint", "smallint,int", "smallint,bigint", "int,bigint"})
  void wholeNumbersAreHashedInWiderTypes(String stored, String hashed) {
    Dataset<Row> data = table.selectExpr(
        "id", "CAST(n4 % 128 AS " + stored + ") AS a", "CAST(v3 % 128 AS " + stored + ") AS b");
    ShuffleExchangeExec exchange =
        exchange(data.repartition(13, functions.col("a").cast(hashed), functions.col("b").cast(hashed)));
    List<HashColumn> columns = new ArrayList<>();
    for (int ordinal : new int[] {1, 2}) {
      columns.add(HashColumn.of(DataType.fromDDL(stored), DataType.fromDDL(hashed), ordinal, ordinal == 1)
          .orElseThrow());
    }
    assertSame(exchange, RowPartitioning.hash(columns, 3, 13), 64 * TASKS);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "struct(n4, n7)", "struct(v4, v7, v13)", "IF(id % 7 = 0, NULL, struct(n0, struct(n5, n8), v1))",
    "IF(id % 3 = 0, NULL, struct(IF(id % 5 = 0, NULL, struct(v6, n10)), n12))", "named_struct('only', n3)"})
  void rowsHashedByStructsHaveSparksPartitions(String struct) {
    Dataset<Row> data = table.selectExpr("id", struct + " AS s", "v4");
    for (int partitions : new int[] {2, 200}) {
      ShuffleExchangeExec exchange = exchange(data.repartition(partitions, functions.col("s"), functions.col("v4")));
      assertSame(exchange, hash(exchange), 64 * TASKS);
    }
  }

  @Test
  void structsOfWhichSparkAloneKnowsAFieldsHashAreNoColumns() {
    for (String field : List.of("array(id)", "'a' COLLATE UNICODE_CI", "make_interval(1)", "struct(map(id, id))")) {
      DataType struct = table.selectExpr("struct(id, " + field + ") AS s").schema().apply("s").dataType();
      assertTrue(HashColumn.of(struct, struct, 0, true).isEmpty(), field);
    }
  }

  @VariantsInAll(oneOf = 6)
  @ParameterizedTest
  @ValueSource(strings = {
    "n4 % 5", "upper(n7)", "n7 COLLATE UNICODE_CI", "struct(n4, n7 COLLATE UTF8_LCASE)", "array(n4, v3)",
    "IF(id % 3 = 0, NULL, array(struct(n7, n10), struct(upper(n7) AS n7, IF(id = 5, NULL, v10) AS n10)))",
    "make_interval(id % 3, 0, 0, n1)",
    "transform(array(n4, id), x -> x % 7)", "nanvl(n6, v4)", "CAST(n9 AS STRING)", "CAST(NULL AS STRING)", "1",
    "shorten(v7)"})
  void rowsHashedByExpressionsHaveSparksPartitions(String key) {
    spark.session().udf().register("shorten", (String text) -> text.substring(0, Math.min(3, text.length())),
        DataTypes.StringType);
    for (int partitions : new int[] {2, 7, 200}) {
      ShuffleExchangeExec exchange = exchange(table.repartition(partitions, functions.expr(key), functions.col("n3")));
      assertSame(exchange, expression(exchange), 0);
    }
  }

  @Test
  void rowsThatSayTheirPartitionAreInIt() {
    ShuffleExchangeExec exchange = exchange(table.repartitionById(7, functions.expr("n3 % 100 - 2")));
    ShufflePartitionIdPassThrough division = (ShufflePartitionIdPassThrough) exchange.outputPartitioning();
    assertSame(exchange, expression(exchange, division.partitionIdExpression(), 0), 0);
  }

  /** With Spark's generated expressions and without; on both engines the function is called for each row once. */
  @ParameterizedTest
  @ValueSource(strings = {"CODEGEN_ONLY", "NO_CODEGEN"})
  void aFunctionOfTheUserIsCalledOnceForEachRow(String expressions) {
    spark.session().conf().set("spark.sql.codegen.factoryMode", expressions);
    LongAccumulator calls = spark.session().sparkContext().longAccumulator();
    spark.session().udf().register("counted", (Long value) -> {
      calls.add(1);
      return value / 3;
    }, DataTypes.LongType);
    try {
      ShuffleExchangeExec exchange = exchange(table.repartition(7, functions.expr("counted(v4)")));
      assertSame(exchange, expression(exchange), 0);
      assertSame(exchange, expression(exchange, 100), 100 * TASKS);
      assertEquals(4L * ROWS, calls.value());
    } finally {
      spark.session().conf().unset("spark.sql.codegen.factoryMode");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "1 / (CASE WHEN id = 5000 THEN 0 ELSE id + 1 END)", "CAST(IF(id = 77, 'no number', '1') AS INT)", "thrower(id)"})
  void aKeyThatFailsFailsForTheSameRow(String key) {
    spark.session().conf().set("spark.sql.ansi.enabled", "true");
    spark.session().udf().register("thrower", (Long id) -> {
      if (id == 4_000) {
        throw new IllegalStateException("not this one");
      }
      return id;
    }, DataTypes.LongType);
    // In one task, so that the rows before are the same ones.
    Dataset<Row> ids = spark.session().range(0, ROWS, 1, 1).toDF();
    try {
      ShuffleExchangeExec exchange = exchange(ids.repartition(7, functions.expr(key)));
      List<String> expected = failure(() -> stocks(exchange));
      assertEquals(expected, failure(() -> ours(exchange, expression(exchange))));
    } finally {
      spark.session().conf().unset("spark.sql.ansi.enabled");
    }
  }

  /** What fails the task, and how many rows it had taken. */
  private static List<String> failure(Executable job) {
    TAKEN.set(0);
    Throwable cause = assertThrows(Exception.class, job);
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return List.of(cause.getClass().getName(), String.valueOf(cause.getMessage()), TAKEN.get() + " rows before");
  }

  /** The code of an expression is made for tasks of many rows only. */
  @Test
  void sparksFunctionFindsTheFirstRowsOfATask() {
    ShuffleExchangeExec exchange = exchange(table.repartition(7, functions.expr("n4 % 5")));
    assertEquals(100L * TASKS, ours(exchange, expression(exchange, 100)).asked());
    HashPartitioning partitioning = (HashPartitioning) exchange.outputPartitioning();
    RowPartitioning usual = RowPartitioning.expression(BindReferences.bindReference(
        partitioning.partitionIdExpression(), package$.MODULE$.AttributeSeq(exchange.child().output()), false));
    assertEquals(0, ours(exchange, usual).found());
  }

  @Test
  void allRowsGoToTheOnlyPartition() {
    ShuffleExchangeExec exchange = exchange(table.repartition(1));
    assertSame(exchange, RowPartitioning.single(), 0);
  }

  @Test
  void tasksWithoutRowsFindNothing() {
    ShuffleExchangeExec exchange = exchange(table.where("id < 0").repartition(7, functions.expr("n4 % 5")));
    Partitioned none = new Partitioned(List.of(), List.of(), 0, 0, 0);
    assertEquals(none, stocks(exchange));
    assertEquals(none, ours(exchange, expression(exchange)));
    assertEquals(none, ours(exchange, RowPartitioning.single()));
  }

  static Stream<Arguments> orders() {
    Random random = new Random(13);
    return columns().map(arguments -> {
      Column[] columns = (Column[]) arguments.get()[1];
      Column[] orders = new Column[columns.length];
      for (int i = 0; i < columns.length; i++) {
        orders[i] = switch (random.nextInt(4)) {
          case 0 -> columns[i].asc();
          case 1 -> columns[i].desc();
          case 2 -> columns[i].asc_nulls_last();
          default -> columns[i].desc_nulls_first();
        };
      }
      return Arguments.of(List.of(orders).toString(), orders);
    });
  }

  @VariantsInAll(oneOf = 6)
  @ParameterizedTest(name = "{0}")
  @MethodSource("orders")
  void rowsInRangesHaveSparksPartitions(String name, Column[] orders) {
    for (int partitions : new int[] {7, 200}) {
      ShuffleExchangeExec exchange = exchange(table.repartitionByRange(partitions, orders));
      assertSame(exchange, range(exchange), partitions == 200 ? ROWS : 600);
    }
  }

  @Test
  void rowsBetweenBoundsOfWideRangesAreSeldomAskedFor() {
    ShuffleExchangeExec exchange = exchange(table.repartitionByRange(50, functions.col("id")));
    assertSame(exchange, range(exchange), ROWS);
    ShuffleExchangeExec shuffled = exchange(table.repartitionByRange(50, functions.col("v4")));
    assertSame(shuffled, range(shuffled), 1_000);
  }

  /** Of each task's last rows some do not begin as the others; of the nullable ones some have no value. */
  @ParameterizedTest
  @ValueSource(strings = {
    "concat('customers/of/one/name_', xxhash64(id))",
    "concat(IF(id % 1000 > 970, 'cust', 'customers/of/one/name_'), xxhash64(id))",
    "IF(id % 1000 > 990, NULL, concat('customers/of/one/name_', xxhash64(id)))",
    "IF(id % 1000 > 990, 'customers/of', concat('customers/of/one/name_', xxhash64(id)))",
    // One value only, and values that end where others have zeros.
    "IF(id < 0, 'FR', 'DE')",
    "concat('customers/of/one/', IF(id % 3 = 0, '', concat(char(0), IF(id % 2 = 0, '', CAST(id AS STRING)))))"})
  void rowsInRangesOfTextThatBeginsAlikeHaveSparksPartitions(String text) {
    Dataset<Row> texts = spark.session().range(0, ROWS, 1, TASKS).selectExpr(text + " AS path", "xxhash64(id) AS id");
    for (Column order : List.of(functions.col("path").asc(), functions.col("path").desc())) {
      ShuffleExchangeExec exchange = exchange(texts.repartitionByRange(20, order, functions.col("id")));
      assertSame(exchange, range(exchange), 1_500);
    }
  }

  @Test
  void rowsDealtOutInTurnComeInSparksOrder() {
    for (int partitions : new int[] {2, 3, 200}) {
      ShuffleExchangeExec exchange = exchange(table.repartition(partitions));
      RowPartitioning inTurn =
          RowPartitioning.roundRobin(new BinaryOrder(exchange.output().length()), partitions);
      assertSame(exchange, inTurn, 64 * TASKS);
    }
  }

  @Test
  void manyEqualRowsAreDealtOutInTurn() {
    Dataset<Row> equal = spark.session().range(0, ROWS, 1, 1).selectExpr("id % 3 AS id", "'x' AS text");
    ShuffleExchangeExec exchange = exchange(equal.repartition(7));
    assertSame(exchange, RowPartitioning.roundRobin(new BinaryOrder(2), 7), 64 * TASKS);
  }

  @Test
  void aFinderThatDisagreesIsNotUsed() {
    ShuffleExchangeExec exchange = exchange(table.repartition(7, functions.col("v4")));
    DataType type = exchange.output().apply(0).dataType();
    HashColumn other = HashColumn.of(type, type, 0, false).orElseThrow();
    Partitioned actual = ours(exchange, RowPartitioning.hash(List.of(other), exchange.output().length(), 7));
    assertEquals(stocks(exchange).partitions(), actual.partitions());
    assertEquals(TASKS, actual.refuted());
    assertEquals(0, actual.found());
  }

  @Test
  void anOrderThatDisagreesIsNotUsed() {
    ShuffleExchangeExec exchange = exchange(table.repartitionByRange(7, functions.col("v4")));
    RangePartitioning other =
        (RangePartitioning) exchange(table.repartitionByRange(7, functions.col("v3"))).outputPartitioning();
    Attribute column = (Attribute) other.ordering().apply(0).child();
    SortColumn wrong = SortColumn.of(column.dataType(), 8, false, false, true).orElseThrow();
    Partitioned actual =
        ours(exchange, RowPartitioning.range(new ColumnOrder(List.of(wrong), exchange.output().length()), () -> null));
    assertEquals(stocks(exchange).partitions(), actual.partitions());
    assertEquals(TASKS, actual.refuted());
  }

  /** Whoever maps or iterates over the input without a writer of Sluice sees Spark's pairs. */
  @Test
  void asAnIteratorItHasSparksPairs() {
    ShuffleExchangeExec exchange = exchange(table.repartition(7, functions.col("v4")));
    Partitioned actual =
        run(exchange, new ExchangeInput(exchange.child().execute(), hash(exchange)), new AsPairs<>());
    assertEquals(stocks(exchange), actual);
  }
}
