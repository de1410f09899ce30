package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Many SQL executions without Spark's cleaner, which stands for a driver whose garbage collector does not run: files,
 * descriptors, mapped and pinned memory stay flat. {@code -Dsystemtests.executions=<count>} runs more.
 */
@Tag("once")
class ManyExecutionsTest {
  private static final int EXECUTIONS = Integer.getInteger("systemtests.executions", 50);
  private static final int SHUFFLE_FILES_WITHOUT = 3 * 3 * 2;
  private static final int SAMPLES = 10;
  /** What one-sided reads keep for the next ones. */
  private static final long PINNED_KIB = 64 << 10;
  private static final Duration LIMIT = Duration.ofSeconds(60);
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

  /** What an application holds after so many executions: files of shuffles, and of all its processes together. */
  private record Sample(String engine, int executions, int files, long fileBytes, Held held) {
    static Sample of(SparkApplication application, String engine, int executions) throws IOException {
      List<Path> files = ShuffleFiles.named(application.localDir(), "shuffle_.*");
      Held all = Held.here();
      for (Held executor : application.isCluster() ? ExecutorSurvey.ask(application.context(), Held::here).values()
          : List.<Held>of()) {
        all = all.and(executor);
      }
      return new Sample(engine, executions, files.size(), files.stream().mapToLong(ShuffleFiles::size).sum(), all);
    }

    String row() {
      return String.format(Locale.ROOT, "| %s | %d | %d | %d | %d | %d | %d | %d |%n", engine, executions, files,
          fileBytes >> 10, held.descriptors(), held.shuffleDescriptors(), held.mappedBytes() >> 10, held.pinnedKib());
    }
  }

  /**
   * Stock without its cleaner, Sluice in one process, and Sluice in mode UCX in two. What each holds is written to
   * {@code target/many-executions.md}.
   */
  @InAll
  @Test
  void stockGrowsAndSluiceStaysFlat() throws IOException {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the setting is Sluice's");
    OneSidedTransportTest.assumeUcx();
    StringBuilder page = new StringBuilder("""
        | engine | executions | files | KiB of files | descriptors | of map outputs | KiB mapped | KiB pinned |
        | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
        """);
    Map<String, String> flat = Map.of("spark.sluice.sql.cleanup", "unreferenced");
    Map<String, String> oneSided = new HashMap<>(flat);
    oneSided.put("spark.sluice.mode", "UCX");
    List<Sample> stock = samples(SparkApplication.on(Engine.STOCK), "stock", Map.of(), page);
    List<Sample> ours = samples(SparkApplication.on(Engine.UNDER_TEST), "Sluice", flat, page);
    List<Sample> cluster = samples(SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false"), "Sluice, UCX, two executors", oneSided, page);
    Path target = Path.of(System.getProperty("systemtests.workDir")).resolveSibling("many-executions.md");
    Files.writeString(target, page);
    assertTrue(stock.get(SAMPLES - 1).files() > SAMPLES / 2 * stock.get(0).files(), "stock's files do not grow");
    for (List<Sample> samples : List.of(ours, cluster)) {
      Sample first = samples.get(0);
      Sample last = samples.get(SAMPLES - 1);
      assertEquals(0, last.files(), last::row);
      assertTrue(last.held().nothingOfShuffles(), last::row);
      assertTrue(last.held().descriptors() <= first.held().descriptors() + 3 * OTHER_DESCRIPTORS,
          () -> first.row() + last.row());
      assertTrue(last.held().pinnedKib() <= first.held().pinnedKib() + PINNED_KIB, () -> first.row() + last.row());
    }
  }

  private static List<Sample> samples(
      SparkApplication.Builder builder, String engine, Map<String, String> settings, StringBuilder page)
      throws IOException {
    List<Sample> samples = new ArrayList<>();
    try (SparkApplication application = builder.setAll(settings).set("spark.cleaner.referenceTracking", "false")
        .set("spark.sql.shuffle.partitions", "2").start()) {
      if (application.isCluster()) {
        application.awaitExecutors(2);
      }
      for (int i = 1; i <= SAMPLES; i++) {
        run(application.session(), Math.max(1, EXECUTIONS / SAMPLES));
        application.events();
        int executions = i * Math.max(1, EXECUTIONS / SAMPLES);
        if (!engine.equals("stock")) {
          // Executors learn of a removal up to ten seconds later.
          Await.until(LIMIT, () -> engine + ": something is left", () -> files(application) == 0
              && (!application.isCluster() || ExecutorSurvey.ask(application.context(), Held::here).values().stream()
                  .allMatch(Held::nothingOfShuffles)));
        }
        samples.add(Sample.of(application, engine, executions));
        page.append(samples.get(i - 1).row());
      }
    }
    return samples;
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
