package io.sluice.bench.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A query that a seed determines, as SQL: a generated table {@code t0}, then steps of which each reads the one before.
 * Its result is a multiset of rows that depends on nothing but the text: no step looks at the order of rows, at
 * partitions, or at sums of floating point numbers. Loads no Spark class.
 */
final class RandomQuery implements RandomProgram {

  private static final int MAX_COLUMNS = 12;
  private static final int WIDE_COLUMNS = 40;
  /** Rows may become this many times as many. */
  private static final int MAX_GROWTH = 8;

  private final Dice dice;
  private final int steps;
  private final List<String> tables = new ArrayList<>();
  /** How many columns, c0 and so on, the last table has. */
  private int columns;
  private int growth = 1;

  RandomQuery(long seed, long rows, int steps) {
    this.dice = new Dice(seed);
    this.steps = steps;
    tables.add(source(dice.fork(0), rows));
    for (int step = 1; step <= steps; step++) {
      tables.add(step(dice.fork(step), "t" + (step - 1)));
    }
  }

  /** How many steps a seed gives a query unless it is made shorter. */
  static int stepsOf(long seed) {
    return new Dice(seed).fork(-1).between(1, 6);
  }

  @Override
  public int steps() {
    return steps;
  }

  /** Spark's settings for the query's session. */
  Map<String, String> settings() {
    Dice own = dice.fork(-2);
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("spark.sql.shuffle.partitions", own.pick("1", "2", "5", "17", "64", "200"));
    settings.put("spark.sql.adaptive.enabled", own.pick("true", "true", "false"));
    settings.put("spark.sql.autoBroadcastJoinThreshold", own.pick("-1", "10485760"));
    settings.put("spark.sql.codegen.wholeStage", own.pick("true", "true", "true", "true", "false"));
    settings.put("spark.sql.adaptive.advisoryPartitionSizeInBytes", own.pick("64k", "1m", "64m"));
    return settings;
  }

  @Override
  public String text() {
    String with = IntStream.range(0, tables.size()).mapToObj(i -> "t" + i + " AS (\n  " + tables.get(i) + ")")
        .collect(Collectors.joining(",\n"));
    return "WITH " + with + "\nSELECT * FROM t" + (tables.size() - 1);
  }

  /** The text with the settings before it, to be run again by hand. */
  @Override
  public String listing() {
    return settings().entrySet().stream().map(setting -> "SET " + setting.getKey() + "=" + setting.getValue() + ";\n")
        .collect(Collectors.joining()) + text() + ";\n";
  }

  private String source(Dice own, long rows) {
    columns = own.onceIn(6) ? WIDE_COLUMNS : own.between(1, MAX_COLUMNS);
    int parts = own.between(1, 8);
    List<String> made = new ArrayList<>();
    for (int i = 0; i < columns; i++) {
      int distinct = own.pick(2, 30, 1_000, 50_000, 1_000_000);
      String value = own.pick(ColumnType.values()).expression(own.between(1, 1_000_000), distinct);
      boolean nulls = own.onceIn(3);
      made.add((nulls ? "if(pmod(hash(id, " + own.between(1, 1_000_000) + "), 7) = 0, NULL, " + value + ")" : value)
          + " AS c" + i);
    }
    return "SELECT " + String.join(", ", made) + " FROM range(0, " + rows + ", 1, " + parts + ")";
  }

  private String step(Dice own, String from) {
    return switch (own.between(0, 16)) {
      case 0 -> "SELECT /*+ REPARTITION(" + own.between(1, 300) + ") */ * FROM " + from;
      case 1 -> "SELECT /*+ REPARTITION(" + own.between(1, 40) + ", " + names(own, 3) + ") */ * FROM " + from;
      case 2 -> "SELECT /*+ REPARTITION_BY_RANGE(" + own.between(1, 20) + ", " + names(own, 3) + ") */ * FROM " + from;
      case 3 -> "SELECT /*+ REBALANCE(" + names(own, 2) + ") */ * FROM " + from;
      case 4, 5 -> grouped(own, from);
      case 6, 7 -> joined(own, from);
      case 8, 9 -> windowed(own, from);
      case 10 -> "SELECT DISTINCT * FROM " + from;
      case 11 -> union(own, from);
      case 12 -> "SELECT * FROM " + from + " WHERE " + condition(own, "") + own.pick(" EXCEPT ", " INTERSECT ")
          + "SELECT * FROM " + from + " WHERE " + condition(own, "");
      case 13 -> exploded(own, from);
      case 14 -> projected(own, from);
      case 15 -> "SELECT * FROM " + from + " DISTRIBUTE BY " + names(own, 2) + " SORT BY " + order(own, names(own, 3));
      default -> sorted(own, from);
    };
  }

  private String grouped(Dice own, String from) {
    List<String> keys = own.some(own.between(0, 3), all());
    List<String> values = new ArrayList<>(keys);
    int aggregates = own.between(1, 5);
    for (int i = 0; i < aggregates; i++) {
      String column = own.pick(all());
      String number = "pmod(hash(" + column + "), 1000)";
      values.add(switch (own.between(0, 7)) {
        case 0 -> "count(*)";
        case 1 -> "count(" + column + ")";
        case 2 -> "sum(" + number + ")";
        case 3 -> "min(" + column + ")";
        case 4 -> "max(" + column + ")";
        case 5 -> "count(DISTINCT " + column + ")";
        case 6 -> "sum(" + number + ") FILTER (WHERE " + condition(own, "") + ")";
        // Without keys a list would be as long as the table.
        default -> keys.isEmpty() ? "max(" + number + ")"
            : "sort_array(" + own.pick("collect_list", "collect_set") + "(" + number + "))";
      });
    }
    String by = keys.isEmpty() ? "" : " GROUP BY " + String.join(", ", keys);
    if (!keys.isEmpty() && own.onceIn(4)) {
      by = " GROUP BY " + own.pick("ROLLUP", "CUBE") + "(" + String.join(", ", keys) + ")";
    }
    return select(values, "") + " FROM " + from + by;
  }

  /** With a table of one row per value of a column, made from the same table or from numbers. */
  private String joined(Dice own, String from) {
    String key = own.pick(all());
    boolean numbers = own.onceIn(2);
    String side = numbers
        ? "(SELECT CAST(id AS INT) AS k, concat('v', id % 7) AS v FROM range(0, " + own.pick(3, 500, 20_000) + "))"
        : "(SELECT " + key + " AS k, count(*) AS v FROM " + from + " WHERE " + condition(own, "") + " GROUP BY " + key
            + ")";
    String on = numbers ? "pmod(hash(a." + key + "), " + own.pick(5, 700, 30_000) + ") = b.k"
        : "a." + key + own.pick(" = ", " <=> ") + "b.k";
    String hint = own.pick("MERGE(b)", "SHUFFLE_HASH(b)", "MERGE(b)", "BROADCAST(b)", "");
    String kind = own.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN");
    boolean leftOnly = kind.endsWith("SEMI JOIN") || kind.endsWith("ANTI JOIN");
    List<String> values = all().stream().map(name -> "a." + name).collect(Collectors.toCollection(ArrayList::new));
    if (!leftOnly) {
      values.add("b.v");
    }
    return select(values, hint.isEmpty() ? "" : "/*+ " + hint + " */ ") + " FROM " + from + " a " + kind + " " + side
        + " b ON " + on;
  }

  private String windowed(Dice own, String from) {
    List<String> values = new ArrayList<>(all());
    // Rows that are equal in all columns may change places: nobody can tell them apart.
    List<String> order = new ArrayList<>(all());
    Collections.rotate(order, own.between(0, order.size()));
    String partition = own.onceIn(5) ? "" : "PARTITION BY " + names(own, 2) + " ";
    String column = own.pick(all());
    String over = " OVER (" + partition + "ORDER BY " + order(own, String.join(", ", order));
    values.add(switch (own.between(0, 4)) {
      case 0 -> "row_number()" + over + ")";
      case 1 -> "rank()" + over + ")";
      case 2 -> "lag(" + column + ", " + own.between(1, 3) + ")" + over + ")";
      case 3 -> "sum(pmod(hash(" + column + "), 1000))" + over + " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)";
      default -> "max(" + column + ")" + over + " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)";
    });
    return select(values, "") + " FROM " + from;
  }

  private String union(Dice own, String from) {
    if (growth * 2 > MAX_GROWTH) {
      return "SELECT DISTINCT * FROM " + from;
    }
    growth *= 2;
    return "SELECT * FROM " + from + " UNION ALL SELECT * FROM " + from + " WHERE " + condition(own, "");
  }

  private String exploded(Dice own, String from) {
    if (growth * 2 > MAX_GROWTH) {
      return "SELECT * FROM " + from + " WHERE " + condition(own, "");
    }
    growth *= 2;
    String column = own.pick(all());
    List<String> values = new ArrayList<>(all());
    values.add("e");
    return select(values, "") + " FROM " + from + " LATERAL VIEW explode(sequence(0, pmod(hash(" + column
        + "), 3))) x AS e";
  }

  private String projected(Dice own, String from) {
    List<String> values = own.some(own.between(1, columns), all());
    List<String> made = new ArrayList<>(values);
    made.add("xxhash64(" + String.join(", ", values) + ")");
    made.add("concat_ws('-', CAST(hash(" + own.pick(all()) + ") AS STRING), 'x')");
    return select(made, "") + " FROM " + from;
  }

  private String sorted(Dice own, String from) {
    // A limit after an order of all columns: rows that are equal in all of them are one as good as the other.
    return own.onceIn(2) ? "SELECT * FROM " + from + " ORDER BY " + order(own, names(own, 3))
        : "SELECT * FROM " + from + " ORDER BY " + order(own, String.join(", ", all())) + " LIMIT "
            + own.pick(10, 3_000, 40_000);
  }

  /** SELECT of {@code values}, which become the columns c0, c1 and so on; wide tables are cut. */
  private String select(List<String> values, String hint) {
    List<String> kept = values.size() <= WIDE_COLUMNS + 8 ? values : values.subList(0, WIDE_COLUMNS + 8);
    columns = kept.size();
    return "SELECT " + hint + IntStream.range(0, kept.size()).mapToObj(i -> kept.get(i) + " AS c" + i)
        .collect(Collectors.joining(", "));
  }

  private String condition(Dice own, String prefix) {
    String column = prefix + own.pick(all());
    return own.onceIn(4) ? column + " IS NOT NULL" : "pmod(hash(" + column + "), " + own.pick(2, 3, 10) + ") <> 0";
  }

  private List<String> all() {
    return IntStream.range(0, columns).mapToObj(i -> "c" + i).toList();
  }

  private String names(Dice own, int most) {
    return String.join(", ", own.some(own.between(1, most), all()));
  }

  /** {@code names} with a direction and a place for nulls each. */
  private static String order(Dice own, String names) {
    return Arrays.stream(names.split(", "))
        .map(name -> name + own.pick("", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST"))
        .collect(Collectors.joining(", "));
  }
}
