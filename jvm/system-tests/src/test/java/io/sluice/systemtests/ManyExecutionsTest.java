package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Many SQL executions without Spark's cleaner, which stands for a driver whose garbage collector does not run: files,
 * descriptors, mapped and pinned memory stay flat. {@code -Dsystemtests.executions=<count>} runs more.
 */
@Tag("once")
@Tag("CACHE_ONLY")
class ManyExecutionsTest {
  private static final int EXECUTIONS = Integer.getInteger("systemtests.executions", 50);
  private static final int SHUFFLE_FILES_WITHOUT = 3 * 3 * 2;
  /** The JVM opens some of its own, such as jars. */
  private static final int OTHER_DESCRIPTORS = 10;

  @Test
  void whatTheyHoldStaysFlat() throws IOException {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the setting is Sluice's");
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.sluice.sql.cleanup", "unreferenced")
        .set("spark.cleaner.referenceTracking", "false")
        .set("spark.sql.shuffle.partitions", "2")
        .start()) {
      SparkSession spark = application.session();
      run(spark, 5);
      application.events();
      Held before = Held.here();
      run(spark, EXECUTIONS);
      application.events();
      Held after = Held.here();
      assertEquals(0, files(application));
      assertTrue(after.nothingOfShuffles(), after::toString);
      assertTrue(after.descriptors() <= before.descriptors() + OTHER_DESCRIPTORS, () -> before + " and then " + after);
      assertTrue(after.pinnedKib() <= before.pinnedKib(), () -> before + " and then " + after);

      spark.conf().set("spark.sluice.sql.cleanup", "off");
      run(spark, 3);
      assertTrue(files(application) >= SHUFFLE_FILES_WITHOUT,
          () -> files(application) + " files: the test sees nothing");
    }
  }

  private static int files(SparkApplication application) {
    return ShuffleFiles.named(application.localDir(), "shuffle_.*").size();
  }

  /** Three shuffles each. */
  private static void run(SparkSession spark, int executions) {
    for (int i = 0; i < executions; i++) {
      long groups =
          spark.range(0, 999, 1, 2).repartition(2, col("id")).groupBy(expr("id % 7")).agg(Map.of("id", "max")).count();
      assertEquals(7, groups);
    }
  }
}
