package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

/** With the External Shuffle Service, map outputs outlive the executor that wrote them. */
class ShuffleServiceTest {
  private static final long ROWS = 100_000;
  private static final long FATAL_ID = 61_803;

  @Test
  void mapOutputsSurviveTheirExecutor() throws IOException {
    try (ShuffleService service = ShuffleService.start();
        SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
            .master(SparkApplication.CLUSTER)
            .set("spark.shuffle.service.enabled", "true")
            .set("spark.shuffle.service.port", Integer.toString(service.port()))
            .start()) {
      Path marker = application.localDir().resolve("died");
      ExecutorDeath.register(application.session(), "fatal", marker, FATAL_ID);
      Dataset<Row> events = Tables.events(application.session(), ROWS, 4);
      Dataset<Row> shuffled = events.repartition(8, col("k")).selectExpr("fatal(id) AS id", "k", "name");

      assertEquals(Fingerprint.of(events.select("id", "k", "name")).unordered(), Fingerprint.of(shuffled).unordered());
      assertTrue(Files.exists(marker), "no executor died");
      assertEquals(0, application.events().retriedStages(), "map outputs were lost with the executor");
      assertTrue(application.events().totals().remoteBlocks() > 0, "nothing came from the service");
    }
  }
}
