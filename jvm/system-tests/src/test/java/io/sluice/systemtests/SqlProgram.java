package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * SQL statements that are run on stock and on the manager under test, each time from nothing. The rows of its queries
 * must be equal, and Sluice must have carried the shuffles of those statements that have one on stock.
 */
final class SqlProgram {
  private static final long ROWS = 20_000;

  private final Map<String, String> settings;
  private final List<Statement> statements = new ArrayList<>();
  private boolean someAreSparks;

  private record Statement(String sql, boolean shuffles, boolean isQuery, boolean hasBatches) {}

  /** @param settings of the application, on both engines; {@code {folder}} in a value is a folder of the run */
  SqlProgram(Map<String, String> settings) {
    this.settings = settings;
  }

  /** A statement that may shuffle. */
  SqlProgram run(String sql) {
    statements.add(new Statement(sql, false, false, false));
    return this;
  }

  /** A statement that must shuffle rows, on both engines. */
  SqlProgram shuffle(String sql) {
    statements.add(new Statement(sql, true, false, false));
    return this;
  }

  /** A query whose rows, in any order, are the program's result. */
  SqlProgram query(String sql) {
    statements.add(new Statement(sql, false, true, false));
    return this;
  }

  /**
   * A statement of which Sluice must take all shuffled rows from the batches of columns that a table's reader gives.
   */
  SqlProgram shuffleBatches(String sql) {
    statements.add(new Statement(sql, true, false, true));
    return this;
  }

  /** A query all of whose rows are shuffled so. */
  SqlProgram queryOfBatches(String sql) {
    statements.add(new Statement(sql, true, true, true));
    return this;
  }

  /** Some of its shuffles, at least one, must be Spark's. */
  SqlProgram withShufflesOfSpark() {
    someAreSparks = true;
    return this;
  }

  /** Runs it on both. Statements may read the views {@code events} and {@code changes}. */
  void assertSameOnBothEngines(String name) {
    Map<String, List<String>> stock = onEngine(Engine.STOCK, name);
    Map<String, List<String>> ours = onEngine(Engine.UNDER_TEST, name);
    assertTrue(!stock.isEmpty());
    stock.forEach((sql, rows) -> {
      assertTrue(!rows.isEmpty(), sql);
      assertEquals(rows, ours.get(sql), sql);
    });
  }

  private Map<String, List<String>> onEngine(Engine engine, String name) {
    String folder = SparkApplication.workDir().resolve(name + "-" + engine).toString();
    ShuffleFiles.deleteTree(java.nio.file.Path.of(folder));
    SparkApplication.Builder builder = SparkApplication.on(engine).set("spark.sql.adaptive.enabled", "true")
        .set("spark.sql.shuffle.partitions", "4").set("spark.sql.warehouse.dir", folder + "/warehouse");
    settings.forEach((key, value) -> builder.set(key, value.replace("{folder}", folder)));
    try (SparkApplication application = builder.start()) {
      views(application.session());
      Map<String, List<String>> results = new LinkedHashMap<>();
      for (Statement statement : statements) {
        run(statement, application, engine, results);
      }
      if (engine.isSluice() && Engine.writesFrames()) {
        assertEquals(someAreSparks, ProcessCounters.here(Counter.SHUFFLES_STOCK) > 0);
        NativeMemory.assertAllReturned();
      }
      return results;
    } finally {
      ShuffleFiles.deleteTree(java.nio.file.Path.of(folder));
    }
  }

  private static void views(SparkSession spark) {
    Tables.events(spark, ROWS, 3).selectExpr("id", "k", "d % 5 AS d", "name").createOrReplaceTempView("events");
    // A tenth of the rows changes, as many are new.
    Tables.events(spark, 2 * ROWS, 3).where("id % 10 = 3").selectExpr("id", "k + 1 AS k", "d % 5 AS d",
        "concat(name, '!') AS name").createOrReplaceTempView("changes");
  }

  private void run(Statement statement, SparkApplication application, Engine engine,
      Map<String, List<String>> results) {
    long sluice = engine.isSluice() ? written() : 0;
    long ofBatches = engine.isSluice() ? ProcessCounters.here(Counter.WRITE_ROWS_OF_BATCHES) : 0;
    long all = application.events().totals().recordsWritten();
    List<Row> rows = application.session().sql(statement.sql()).collectAsList();
    long allWritten = application.events().totals().recordsWritten() - all;
    if (statement.shuffles()) {
      assertTrue(allWritten > 0, () -> engine + " shuffles nothing: " + statement.sql());
    }
    if (engine.isSluice() && Engine.writesFrames() && !someAreSparks) {
      long ours = written() - sluice;
      // Failed and repeated tasks count here, and not in Spark's totals.
      assertTrue(ours >= allWritten,
          () -> "of " + allWritten + " records Sluice wrote " + ours + ": " + statement.sql());
    }
    if (statement.hasBatches() && engine.isSluice() && Engine.writesFrames()) {
      long fromBatches = ProcessCounters.here(Counter.WRITE_ROWS_OF_BATCHES) - ofBatches;
      // With a query the library may shuffle rows of its own.
      long expected = statement.isQuery() ? rows.size() : written() - sluice;
      assertTrue(fromBatches > 0 && fromBatches >= expected,
          () -> "of " + expected + " rows " + fromBatches + " were taken from batches: " + statement.sql());
    }
    if (statement.isQuery()) {
      results.put(statement.sql(), rows.stream().map(Row::toString).sorted().collect(Collectors.toList()));
    }
  }

  private static long written() {
    return ProcessCounters.here(Counter.WRITE_RECORDS);
  }
}
