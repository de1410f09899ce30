package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Map;
import org.apache.spark.FetchFailed;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A reader detects a damaged map output and reports a fetch failure that names the block; Spark writes the output
 * again, the result is right and the application continues.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class DamagedOutputs {
  private static final long ROWS = 40_000;
  private static final int MAPS = 2;

  private final String master;
  private SparkApplication application;

  DamagedOutputs(String master) {
    this.master = master;
  }

  @BeforeAll
  void start() {
    // Map outputs in memory are on no disk, so they cannot be damaged there.
    application = SparkApplication.on(Engine.UNDER_TEST).master(master)
        .setAll(Map.of("spark.sluice.store", "files")).start();
  }

  @AfterAll
  void stop() {
    application.close();
  }

  @ParameterizedTest
  @EnumSource
  void aDamagedMapOutputIsRecomputed(Damage damage) {
    assumeTrue(Engine.writesFrames() || damage.stockNotices(),
        "Spark's own formats may be read like this without an error");
    assumeTrue(!Engine.readsOneSidedly() || !damage.cutsTheData(),
        "who cuts a mapped file ends the process that has mapped it");
    JavaRDD<InternalRow> rows =
        Plans.rows(Tables.events(application.session(), ROWS, MAPS).repartition(4, functions.col("k")));
    Fingerprint before = Fingerprint.of(rows).unordered();
    int retriesBefore = application.events().retriedStages();
    int failuresBefore = application.events().fetchFailures().size();

    damage.inflictBelow(application.localDir());

    assertEquals(before, Fingerprint.of(rows).unordered());
    StageEvents events = application.events();
    if (Engine.readsOneSidedly() && !damage.isInTheData() && events.retriedStages() == retriesBefore) {
      // One-sided reads use neither the index file nor the name of a file that is mapped already.
      return;
    }
    assertTrue(events.retriedStages() > retriesBefore, "no stage was retried");
    List<FetchFailed> failures = events.fetchFailures().stream()
        .skip(failuresBefore)
        .filter(failure -> failure.mapIndex() >= 0)
        .toList();
    assertFalse(failures.isEmpty(), () -> "no fetch failure named a map output: " + events.fetchFailures());
    failures.forEach(this::assertNamesTheBlock);
    NativeMemory.assertAllReturnedBy(application);
  }

  /**
   * A task that asks for locations after the output was unregistered gets a fetch failure without a map index; Spark
   * itself makes that one.
   */
  private void assertNamesTheBlock(FetchFailed failure) {
    assertTrue(failure.mapIndex() < MAPS, failure::toString);
    boolean fromSparksFetcher = failure.message().contains("ShuffleBlockFetcherIterator");
    if (Engine.UNDER_TEST.isSluice() && !fromSparksFetcher) {
      assertTrue(failure.message().contains("shuffle_" + failure.shuffleId() + "_" + failure.mapId()),
          failure.message());
    }
  }
}
