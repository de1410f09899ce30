package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A named query with its session settings.
 *
 * @param ordered whether the order of the result is part of it
 * @param settings of the session while the body runs; the reference runs without them
 * @param reference the query that must have the same result on stock
 */
record Query(
    String name, boolean ordered, Map<String, String> settings, Function<SparkSession, Dataset<Row>> body,
    Function<SparkSession, Dataset<Row>> reference) {

  static Query of(String name, Function<SparkSession, Dataset<Row>> body) {
    return new Query(name, false, Map.of(), body, body);
  }

  /** A query whose result is totally ordered. */
  static Query ordered(String name, Function<SparkSession, Dataset<Row>> body) {
    return new Query(name, true, Map.of(), body, body);
  }

  /**
   * A query that shuffles the rows of {@code input} without changing them, so the reference is {@code input} itself,
   * without a shuffle.
   */
  static Query moving(String name, Function<SparkSession, Dataset<Row>> input, UnaryOperator<Dataset<Row>> shuffle) {
    return new Query(name, false, Map.of(), spark -> shuffle.apply(input.apply(spark)), input);
  }

  Query with(String key, String value) {
    Map<String, String> more = new LinkedHashMap<>(settings);
    more.put(key, value);
    return new Query(name, ordered, more, body, reference);
  }

  /** Runs the query and returns its fingerprint. */
  Fingerprint run(SparkSession spark) {
    return inSession(spark, () -> fingerprint(body.apply(spark)));
  }

  private Fingerprint fingerprint(Dataset<Row> result) {
    return ordered ? Fingerprint.of(result) : Fingerprint.of(result).unordered();
  }

  /** Runs the query and returns the shape of the plan that ran. */
  List<String> runForShape(SparkSession spark) {
    return run(spark, Plans::shape);
  }

  /** The same without what Sluice puts into plans. */
  List<String> runForShapeWithoutSluice(SparkSession spark) {
    return run(spark, Plans::shapeWithoutSluice);
  }

  private List<String> run(SparkSession spark, Function<Dataset<Row>, List<String>> shape) {
    return inSession(spark, () -> {
      Dataset<Row> data = body.apply(spark);
      Fingerprint.of(data);
      return shape.apply(data);
    });
  }

  private <T> T inSession(SparkSession spark, Supplier<T> action) {
    SparkSession.setActiveSession(spark);
    settings.forEach((key, value) -> spark.conf().set(key, value));
    try {
      return action.get();
    } finally {
      settings.keySet().forEach(key -> restore(spark, key));
    }
  }

  private static void restore(SparkSession spark, String key) {
    if (spark.sparkContext().conf().contains(key)) {
      spark.conf().set(key, spark.sparkContext().conf().get(key));
    } else {
      spark.conf().unset(key);
    }
  }

  /** Runs all queries in one application on stock: the expected results. */
  static Map<String, Fingerprint> onStock(List<Query> queries) {
    Map<String, Fingerprint> results = new LinkedHashMap<>();
    try (SparkApplication stock = SparkApplication.on(Engine.STOCK).start()) {
      queries.forEach(query -> results.put(query.name(), query.fingerprint(query.reference().apply(stock.session()))));
    }
    if (results.size() != queries.size()) {
      throw new IllegalStateException("two queries share a name: " + names(queries));
    }
    return results;
  }

  static List<String> names(List<Query> queries) {
    List<String> names = new ArrayList<>();
    queries.forEach(query -> names.add(query.name()));
    return names;
  }

  @Override
  public String toString() {
    return name;
  }
}
