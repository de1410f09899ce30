package io.sluice.bench.tpcds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.RowDigester;
import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.TableFiles;
import io.sluice.bench.workload.Sizing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is compared of a query, on a Spark inside this JVM. The 103 texts themselves are run by ./sluice test. */
class TpcdsQueryTest {

  @TempDir private static Path folder;

  private static SparkSession spark;
  private static Sizing sizing;

  @BeforeAll
  static void start() throws IOException {
    spark = SparkSession.builder().master("local[1]").appName("tpcds").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.sql.warehouse.dir", folder + "/warehouse")
        .getOrCreate();
    sizing = new Sizing(1, 1, 0).reading(TableFiles.below(folder, Benchmark.TPCDS, 1));
    Files.createDirectories(folder.resolve("queries/tpcds"));
  }

  @AfterAll
  static void stop() {
    spark.stop();
  }

  @Test
  void theOutermostLimitAloneIsLeftOut() {
    assertEquals("SELECT * FROM (SELECT 1 LIMIT 2) ORDER BY 1\n",
        TpcdsQuery.withoutLimit("SELECT * FROM (SELECT 1 LIMIT 2) ORDER BY 1\nLIMIT 100\n"));
    assertEquals("SELECT 1\n", TpcdsQuery.withoutLimit("SELECT 1\nlimit 7 ;\n"));
    String none = "SELECT * FROM (SELECT 1 LIMIT 2) a";
    assertEquals(none, TpcdsQuery.withoutLimit(none));
  }

  @Test
  void tiesAtTheLimitAndTheLastBitsOfDoublesMakeNoDifference() throws IOException {
    assertEquals(digest("SELECT id, id / 3D FROM range(4) ORDER BY id % 2 LIMIT 1"),
        digest("SELECT id, id / 3D + 1e-15 FROM range(4) ORDER BY id % 2 DESC LIMIT 1"));
    assertNotEquals(digest("SELECT id, id / 3D FROM range(4)"), digest("SELECT id, id / 3D + 1e-4 FROM range(4)"));
  }

  @Test
  void columnsMayBeNamedAlike() throws IOException {
    assertEquals(2, digest("SELECT id AS a, id / 2D AS a FROM range(2) LIMIT 1").rows());
  }

  private static Digest digest(String text) throws IOException {
    Files.writeString(folder.resolve("queries/tpcds/q1.sql"), text);
    TpcdsQuery query = new TpcdsQuery("q1");
    return RowDigester.digest(query.compared(spark, sizing), List.of());
  }
}
