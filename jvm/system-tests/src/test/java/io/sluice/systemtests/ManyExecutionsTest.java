package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.executor.ExecutorState;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.apache.spark.SparkEnv;
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

  /**
   * What the transport of this process has ready for other executors.
   *
   * @param outputs map outputs that are published
   * @param mappedRegions parts of them that are mapped, and registered where an RDMA device needs that
   */
  private record Published(long outputs, long mappedRegions, long mappedBytes) implements Serializable {
    static final Published NOTHING = new Published(0, 0, 0);

    static Published here() {
      ExecutorState state = ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).executorState();
      return new Published(ExecutorGauge.PUBLISHED_OUTPUTS.of(state).longValue(),
          ExecutorGauge.MAPPED_REGIONS.of(state).longValue(), ExecutorGauge.MAPPED_BYTES.of(state).longValue());
    }

    Published and(Published other) {
      return new Published(outputs + other.outputs, mappedRegions + other.mappedRegions,
          mappedBytes + other.mappedBytes);
    }
  }

  /** What an executor holds. */
  private record Executor(Held held, Published published) implements Serializable {
    static Executor here() throws IOException {
      return new Executor(Held.here(), Published.here());
    }

    boolean nothingOfShuffles() {
      return held.nothingOfShuffles() && published.equals(Published.NOTHING);
    }
  }

  /** What an application holds after so many executions: files of shuffles, and of all its processes together. */
  private record Sample(String engine, int executions, int files, long fileBytes, Held held, Published published) {
    static Sample of(SparkApplication application, String engine, int executions) throws IOException {
      List<Path> files = ShuffleFiles.named(application.localDir(), "shuffle_.*");
      Held held = Held.here();
      Published published = Published.NOTHING;
      if (application.isCluster()) {
        for (Executor executor : ExecutorSurvey.ask(application.context(), Executor::here).values()) {
          held = held.and(executor.held());
          published = published.and(executor.published());
        }
      }
      return new Sample(engine, executions, files.size(), files.stream().mapToLong(ShuffleFiles::size).sum(), held,
          published);
    }

    String row() {
      return String.format(Locale.ROOT, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |%n", engine,
          executions, files, fileBytes >> 10, held.descriptors(), held.shuffleDescriptors(), published.outputs(),
          published.mappedRegions(), published.mappedBytes() >> 10, held.mappedBytes() >> 10, held.pinnedKib());
    }

    String json() {
      return String.format(Locale.ROOT,
          "{\"engine\": \"%s\", \"executions\": %d, \"files\": %d, \"fileBytes\": %d, \"descriptors\": %d, "
              + "\"descriptorsOfMapOutputs\": %d, \"publishedOutputs\": %d, \"mappedRegions\": %d, "
              + "\"mappedBytes\": %d, \"mappedBytesOfProcesses\": %d, \"pinnedKib\": %d}",
          engine, executions, files, fileBytes, held.descriptors(), held.shuffleDescriptors(), published.outputs(),
          published.mappedRegions(), published.mappedBytes(), held.mappedBytes(), held.pinnedKib());
    }
  }

  /**
   * Stock without its cleaner, Sluice in one process, and Sluice over UCX in two executors that map their outputs for
   * each other, with and without the setting. What each holds is written to {@code target/many-executions.md} and
   * {@code .json}.
   */
  @InAll
  @Test
  void stockGrowsAndSluiceStaysFlat() throws IOException {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the setting is Sluice's");
    OneSidedTransportTest.assumeUcx();
    List<Sample> stock = samples(SparkApplication.on(Engine.STOCK), "stock");
    List<Sample> ours = samples(SparkApplication.on(Engine.UNDER_TEST), "Sluice");
    List<Sample> cluster = samples(overTcp(), "Sluice, UCX, two executors");
    List<Sample> without = samples(overTcp().set("spark.sluice.sql.cleanup", "off"), "the same with cleanup=off");
    write(List.of(stock, ours, cluster, without));
    assertGrows(stock, Sample::files);
    assertGrows(without, sample -> sample.held().shuffleDescriptors());
    assertGrows(without, sample -> sample.published().outputs());
    assertGrows(without, sample -> sample.published().mappedBytes());
    for (List<Sample> samples : List.of(ours, cluster)) {
      Sample first = samples.get(0);
      Sample last = samples.get(SAMPLES - 1);
      assertEquals(0, last.files(), last::row);
      assertTrue(last.held().nothingOfShuffles(), last::row);
      assertEquals(Published.NOTHING, last.published());
      assertTrue(last.held().descriptors() <= first.held().descriptors() + 3 * OTHER_DESCRIPTORS,
          () -> first.row() + last.row());
      assertTrue(last.held().pinnedKib() <= first.held().pinnedKib() + PINNED_KIB, () -> first.row() + last.row());
    }
  }

  /** By TCP the owner maps what it sends; within a machine a reader would else take it by a system call. */
  private static SparkApplication.Builder overTcp() {
    return SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.shuffle.readHostLocalDisk", "false")
        .set("spark.sluice.mode", "UCX")
        .set("spark.executorEnv.UCX_TLS", "tcp,self");
  }

  private static void assertGrows(List<Sample> samples, ToLongFunction<Sample> amount) {
    long first = amount.applyAsLong(samples.get(0));
    long last = amount.applyAsLong(samples.get(SAMPLES - 1));
    assertTrue(first > 0 && last > SAMPLES / 2 * first, () -> "does not grow: " + samples);
  }

  private static void write(List<List<Sample>> all) throws IOException {
    StringBuilder page = new StringBuilder("""
        | engine | executions | files | KiB of files | descriptors | of map outputs | published | mapped regions | KiB \
        mapped for peers | KiB of map outputs in the processes | KiB pinned |
        | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
        """);
    List<String> json = new ArrayList<>();
    for (List<Sample> samples : all) {
      for (Sample sample : samples) {
        page.append(sample.row());
        json.add(sample.json());
      }
    }
    Path target = Path.of(System.getProperty("systemtests.workDir"));
    Files.writeString(target.resolveSibling("many-executions.md"), page);
    Files.writeString(target.resolveSibling("many-executions.json"), "[\n" + String.join(",\n", json) + "\n]\n");
  }

  private static List<Sample> samples(SparkApplication.Builder builder, String engine) throws IOException {
    List<Sample> samples = new ArrayList<>();
    boolean grows = engine.equals("stock") || engine.endsWith("off");
    try (SparkApplication application = builder.set("spark.cleaner.referenceTracking", "false")
        .set("spark.sql.shuffle.partitions", "2").start()) {
      if (application.isCluster()) {
        application.awaitExecutors(2);
      }
      for (int i = 1; i <= SAMPLES; i++) {
        run(application.session(), Math.max(1, EXECUTIONS / SAMPLES));
        application.events();
        int executions = i * Math.max(1, EXECUTIONS / SAMPLES);
        if (!grows) {
          // Executors learn of a removal up to ten seconds later.
          Await.until(LIMIT, () -> engine + ": something is left", () -> files(application) == 0
              && (!application.isCluster() || ExecutorSurvey.ask(application.context(), Executor::here).values()
                  .stream().allMatch(Executor::nothingOfShuffles)));
        }
        samples.add(Sample.of(application, engine, executions));
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
