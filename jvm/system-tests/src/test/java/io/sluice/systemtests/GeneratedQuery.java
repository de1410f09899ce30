package io.sluice.systemtests;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A query that follows from a number: a table with columns of random types and nulls at random places, whose rows are
 * divided or sorted, or first the one and then the other.
 */
final class GeneratedQuery {
  /** Of a number {@code r} that is as good as random. */
  private static final List<String> TYPES = List.of(
      "r %% 2 = 0",
      "CAST(r %% 128 AS TINYINT)",
      "CAST(r %% 32768 AS SMALLINT)",
      "CAST(r %% 100000 AS INT)",
      "CASE pmod(r, 9) WHEN 0 THEN -9223372036854775807L - 1 WHEN 1 THEN 9223372036854775807L ELSE r END",
      "CASE pmod(r, 9) WHEN 0 THEN CAST('NaN' AS FLOAT) WHEN 1 THEN -0.0F WHEN 2 THEN 0.0F"
          + " WHEN 3 THEN CAST('-Infinity' AS FLOAT) ELSE CAST(r AS FLOAT) END",
      "CASE pmod(r, 9) WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D"
          + " WHEN 3 THEN CAST('Infinity' AS DOUBLE) ELSE CAST(r AS DOUBLE) / 1e9 END",
      "concat(substring('a prefix of many', 1, CAST(pmod(r, 17) AS INT)), r %% 100)",
      "CAST(repeat(CAST(r AS STRING), CAST(pmod(r, 5) AS INT)) AS BINARY)",
      "CAST(r %% 10000000 AS DECIMAL(10, 2))",
      "CAST(concat(r, '0000000', pmod(r, 100)) AS DECIMAL(38, 4))",
      "date_add(DATE'1970-01-01', CAST(r %% 100000 AS INT))",
      "timestamp_micros(r %% 4000000000000000)",
      "CAST(timestamp_micros(r %% 4000000000000000) AS TIMESTAMP_NTZ)",
      "CAST(concat(pmod(r, 24), ':00:0', pmod(r, 10), '.25') AS TIME)",
      "make_ym_interval(CAST(r %% 1000 AS INT), 1)",
      "make_dt_interval(CAST(r %% 1000 AS INT), 1, 2, 3.5)");

  /** Rows that have no value. */
  private static final List<String> NULLS =
      List.of("false", "pmod(xxhash64(id, 'null'), 4) = 0", "id < 700", "id >= 700", "true");

  /** Ascending and descending, nulls first and last. */
  private static final int ORDERS = 4;
  /** Numbers from one query to the next whose first key has the same type and order. */
  static final int TURN = TYPES.size() * ORDERS;

  private enum Division {
    NONE, HASH, RANGE, ROUND_ROBIN, REBALANCE, REBALANCE_BY_KEYS
  }

  private enum Sort {
    NONE, WITHIN_PARTITIONS, GLOBAL
  }

  /** Which tasks fail once. */
  private enum Failure {
    NONE, OF_MAPS, OF_READERS
  }

  private final int number;
  private final int rows;
  private final int slices;
  private final List<String> columns = new ArrayList<>();
  private final Division division;
  private final List<Column> divisionKeys;
  private final int partitions;
  private final Sort sort;
  private final List<Column> order = new ArrayList<>();
  private final List<Column> orderKeys = new ArrayList<>();
  private final boolean totalOrder;
  private final Failure failure;
  private final int failsAfter;
  private final boolean adaptive;
  private final boolean wholeStageCode;
  private final boolean radixSort;
  private final boolean spills;

  /**
   * Most of what it does goes through in turn, so that a few numbers cover it; the rest is random. {@link #TURN}
   * numbers have every type in every order as the first key, four times that many also sort by each.
   */
  GeneratedQuery(int number) {
    this.number = number;
    Random random = new Random(number);
    division = Division.values()[number % Division.values().length];
    sort = division == Division.NONE && number % 2 == 0 ? Sort.GLOBAL
        : division != Division.NONE && number % 5 == 4 ? Sort.NONE : Sort.WITHIN_PARTITIONS;
    rows = random.nextInt(10) == 0 ? 0 : 200 + random.nextInt(2_000);
    slices = 1 + random.nextInt(4);
    int count = 2 + random.nextInt(4);
    for (int i = 0; i < count; i++) {
      columns.add(column(i, i == 0 ? number % TYPES.size() : random.nextInt(TYPES.size()), random));
    }
    divisionKeys = someColumns(random).stream().map(name -> divisionKey(name, random)).toList();
    partitions = 2 + random.nextInt(12);
    addToOrder(col("c0"), number / TYPES.size() % ORDERS);
    someColumns(random).stream().filter(name -> !name.equals("c0"))
        .forEach(name -> addToOrder(
            random.nextInt(3) == 0 ? computed(name, random) : col(name), random.nextInt(ORDERS)));
    totalOrder = random.nextBoolean();
    if (totalOrder) {
      addToOrder(col("id"), random.nextInt(ORDERS));
    }
    failure = Failure.values()[number / 2 % Failure.values().length];
    failsAfter = random.nextInt(200);
    adaptive = random.nextBoolean();
    wholeStageCode = random.nextInt(4) > 0;
    radixSort = random.nextInt(4) > 0;
    spills = random.nextBoolean();
  }

  /** The first column has values. */
  private static String column(int at, int type, Random random) {
    String number = random.nextBoolean() ? "xxhash64(id, %d)" : "pmod(xxhash64(id, %d), 20L) - 5";
    String nulls = NULLS.get(at > 0 && random.nextInt(4) == 0 ? 4 : random.nextInt(4));
    String value = String.format(TYPES.get(type), at).replaceAll("\\br\\b", "(" + String.format(number, at) + ")");
    return (nulls.equals("false") ? value : "IF(" + nulls + ", NULL, " + value + ")") + " AS c" + at;
  }

  private List<String> someColumns(Random random) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      names.add("c" + i);
    }
    Collections.shuffle(names, random);
    return names.subList(0, 1 + random.nextInt(Math.min(3, names.size())));
  }

  /** The REBALANCE hint takes columns only. */
  private Column divisionKey(String name, Random random) {
    boolean isComputed = random.nextInt(3) == 0 && division != Division.REBALANCE_BY_KEYS;
    return !isComputed ? col(name) : random.nextBoolean() ? computed(name, random) : array(col(name), col(name));
  }

  /** A key that is no column, which may fail to be computed, for all that Spark knows, or not. */
  private Column computed(String name, Random random) {
    Column other = col("c" + random.nextInt(columns.size()));
    return switch (random.nextInt(4)) {
      case 0 -> expr("IF(id % 5 = 0, NULL, " + name + ")");
      case 1 -> struct(col(name), other);
      case 2 -> when(other.isNotNull(), struct(struct(col(name)), other));
      default -> when(other.isNull(), col(name));
    };
  }

  private void addToOrder(Column key, int direction) {
    orderKeys.add(key);
    order.add(switch (direction) {
      case 0 -> key.asc_nulls_first();
      case 1 -> key.asc_nulls_last();
      case 2 -> key.desc_nulls_first();
      default -> key.desc_nulls_last();
    });
  }

  boolean spills() {
    return spills;
  }

  /** The type and the order of the first key by which rows are sorted; empty where none are. */
  Optional<String> sortedBy() {
    return rows == 0 || sort == Sort.NONE ? Optional.empty()
        : Optional.of("type " + number % TYPES.size() + " in order " + number / TYPES.size() % ORDERS);
  }

  boolean fails() {
    return failure != Failure.NONE;
  }

  /** The plan; its last column is what {@link PlacedRow#keys} says. */
  Dataset<Row> on(SparkSession spark, boolean failing) {
    spark.conf().set("spark.sql.adaptive.enabled", Boolean.toString(adaptive));
    spark.conf().set("spark.sql.codegen.wholeStage", Boolean.toString(wholeStageCode));
    spark.conf().set("spark.sql.sort.enableRadixSort", Boolean.toString(radixSort));
    FailsOnce.register(spark, "fails_once", failsAfter);
    List<String> all = new ArrayList<>(List.of(failing && failure == Failure.OF_MAPS ? "fails_once(id) AS id" : "id"));
    all.addAll(columns);
    Dataset<Row> table = spark.range(0, rows, 1, slices).selectExpr(all.toArray(new String[0]));
    Dataset<Row> result = sorted(divided(table));
    return result
        .withColumn("id", failing && failure == Failure.OF_READERS ? expr("fails_once(id)") : col("id"))
        .withColumn("keys", xxhash64(orderKeys.toArray(new Column[0])));
  }

  private Dataset<Row> divided(Dataset<Row> data) {
    Column[] keys = divisionKeys.toArray(new Column[0]);
    return switch (division) {
      case NONE -> data;
      case HASH -> data.repartition(partitions, keys);
      case RANGE -> data.repartitionByRange(partitions, order.toArray(new Column[0]));
      case ROUND_ROBIN -> data.repartition(partitions);
      case REBALANCE -> data.hint("rebalance");
      case REBALANCE_BY_KEYS -> data.hint("rebalance", (Object[]) keys);
    };
  }

  private Dataset<Row> sorted(Dataset<Row> data) {
    Column[] by = order.toArray(new Column[0]);
    return switch (sort) {
      case NONE -> data;
      case WITHIN_PARTITIONS -> data.sortWithinPartitions(by);
      case GLOBAL -> data.orderBy(by);
    };
  }

  /**
   * What must be equal to stock's: the rows, and the order of their keys after a sort, or that of the rows if their
   * keys are unique. In each partition, unless adaptive execution joins and splits partitions.
   */
  Map<String, List<PlacedRow>> comparable(List<PlacedRow> result) {
    boolean placed = !adaptive || sort == Sort.WITHIN_PARTITIONS && division == Division.NONE;
    List<PlacedRow> sequence = result.stream()
        .map(row -> new PlacedRow(placed ? row.partition() : 0, row.keys(), row.content())).toList();
    List<PlacedRow> content = sequence.stream().sorted(Comparator.comparingInt(PlacedRow::partition)
        .thenComparingLong(PlacedRow::content)).toList();
    if (sort == Sort.NONE || sort == Sort.WITHIN_PARTITIONS && !placed) {
      return Map.of("rows", content);
    }
    List<PlacedRow> order =
        sequence.stream().map(row -> new PlacedRow(row.partition(), row.keys(), totalOrder ? row.content() : 0))
            .toList();
    return Map.of("rows", content, "order", order);
  }

  /** Enough to run it again. */
  @Override
  public String toString() {
    return "query " + number + ": " + rows + " rows in " + slices + " slices, " + columns + ", division " + division
        + " into " + partitions + " by " + divisionKeys + ", sort " + sort + " by " + order + ", failure " + failure
        + " after " + failsAfter + " rows, adaptive " + adaptive + ", generated code " + wholeStageCode
        + ", radix sort " + radixSort + ", spills " + spills;
  }
}
