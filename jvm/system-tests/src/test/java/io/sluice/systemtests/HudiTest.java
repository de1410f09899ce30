package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Hudi's writes that shuffle, in both kinds of its tables: bulk inserts, upserts and deletes, with clustering or
 * compaction behind them.
 */
@InAll
@Timeout(900)
class HudiTest {
  private static final long ROWS = 20_000;
  private static final Map<String, String> SETTINGS = Map.of(
      "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
      "spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar",
      "spark.sql.adaptive.enabled", "true", "spark.sql.shuffle.partitions", "4");

  private static final Map<String, String> CLUSTERING = Map.of("hoodie.clustering.inline", "true",
      "hoodie.clustering.inline.max.commits", "1", "hoodie.clustering.plan.strategy.sort.columns", "k,name");
  private static final Map<String, String> COMPACTION =
      Map.of("hoodie.compact.inline", "true", "hoodie.compact.inline.max.delta.commits", "1");

  /** A table of one engine's run, and what was read of it after each write. */
  private static final class Table {
    private final SparkApplication application;
    private final Engine engine;
    private final String type;
    private final String path;
    private final Map<String, List<String>> rows = new LinkedHashMap<>();

    Table(SparkApplication application, Engine engine, String type, Path folder) {
      this.application = application;
      this.engine = engine;
      this.type = type;
      this.path = folder.resolve("table").toUri().toString();
    }

    /** Writes the records by their ids, which must shuffle them, all of them by Sluice on Sluice. */
    void write(String operation, Dataset<Row> records, Map<String, String> more) {
      boolean counted = engine.isSluice() && Engine.writesFrames();
      long sluice = counted ? ProcessCounters.here(Counter.WRITE_RECORDS) : 0;
      long all = application.events().totals().recordsWritten();
      records.write().format("hudi").option("hoodie.table.name", "events")
          .option("hoodie.datasource.write.table.type", type)
          .option("hoodie.datasource.write.operation", operation)
          .option("hoodie.datasource.write.recordkey.field", "id")
          .option("hoodie.datasource.write.precombine.field", "k")
          .option("hoodie.datasource.write.partitionpath.field", "d")
          .options(more).mode(SaveMode.Append).save(path);
      long written = application.events().totals().recordsWritten() - all;
      assertTrue(written > 0, () -> engine + " shuffles nothing: " + operation);
      if (counted) {
        long ours = ProcessCounters.here(Counter.WRITE_RECORDS) - sluice;
        assertTrue(ours >= written, () -> "of " + written + " records Sluice wrote " + ours + ": " + operation);
      }
      rows.put(operation, read());
    }

    /** Without the columns that Hudi adds, which have times. */
    private List<String> read() {
      return application.session().read().format("hudi").load(path).select("id", "k", "name", "d").collectAsList()
          .stream().map(Row::toString).sorted().collect(Collectors.toList());
    }
  }

  private static Map<String, List<String>> onEngine(Engine engine, String type) {
    Path folder = SparkApplication.workDir().resolve("hudi-" + engine);
    ShuffleFiles.deleteTree(folder);
    try (SparkApplication application = SparkApplication.on(engine).setAll(SETTINGS).start()) {
      SparkSession spark = application.session();
      Table table = new Table(application, engine, type, folder);
      table.write("bulk_insert", events(spark, ROWS), Map.of());
      // A tenth of the rows changes, as many are new.
      table.write("upsert", events(spark, 2 * ROWS).where("id % 10 = 3").selectExpr("id", "k + 1 AS k",
          "concat(name, '!') AS name", "d"),
          type.equals("COPY_ON_WRITE") ? CLUSTERING : COMPACTION);
      table.write("delete", events(spark, ROWS).where("id % 23 = 0"), Map.of());
      if (engine.isSluice() && Engine.writesFrames()) {
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        NativeMemory.assertAllReturned();
      }
      return table.rows;
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  private static Dataset<Row> events(SparkSession spark, long rows) {
    return Tables.events(spark, rows, 3).selectExpr("id", "k", "name", "d % 5 AS d");
  }

  @ParameterizedTest
  @ValueSource(strings = {"COPY_ON_WRITE", "MERGE_ON_READ"})
  void tablesHaveStocksRows(String type) {
    try (Neighbour hudi = Neighbour.load("hudi")) {
      Map<String, List<String>> expected = onEngine(Engine.STOCK, type);
      assertEquals(List.of("bulk_insert", "upsert", "delete"), List.copyOf(expected.keySet()));
      expected.forEach((operation, rows) -> assertFalse(rows.isEmpty(), operation));
      assertEquals(expected, onEngine(Engine.UNDER_TEST, type));
    }
  }
}
