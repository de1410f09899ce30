package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.conf.Settings;
import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.resource.ExecutorResourceRequests;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/**
 * Stage-level scheduling: a stage that reads one shuffle and writes another runs on an executor with more cores and
 * memory than {@code spark.executor.cores} and {@code spark.executor.memory} say.
 */
@InAll
@Tag("deep")
@Timeout(600)
class StageResourceProfileTest {
  private static final int PROFILE_CORES = 3;
  private static final long MIB = 1L << 20;
  /** One worker with a core and 512 MiB for the default profile's executor, and the rest for the other profile's. */
  private static final String MASTER = "local-cluster[1,4,2048]";

  /** The sizes that Sluice has chosen on an executor; read by a task. */
  private record Sizing(String executorId, int tasks, int spareCores, int encoderThreads, int decoderThreads,
      int runningPoolThreads, long memoryLimitBytes) implements Serializable {
    static Sizing here() {
      Settings settings = ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).executorState().settings();
      long poolThreads = Thread.getAllStackTraces().keySet().stream().map(Thread::getName)
          .filter(name -> name.startsWith("sluice-encoder") || name.startsWith("sluice-decoder")).count();
      return new Sizing(SparkEnv.get().executorId(), settings.cores().tasks(), settings.cores().spare(),
          settings.writer().threads().most(), settings.reader().threads().most(), (int) poolThreads,
          settings.memory().totalBytes());
    }
  }

  @BeforeAll
  static void onlyWhereALocalClusterHasProfiles() {
    assumeFalse(Tables.isSpark33(), "Spark 3.3 has resource profiles on YARN and Kubernetes only");
  }

  private static SparkApplication start(Engine engine) {
    return SparkApplication.on(engine)
        .master(MASTER)
        .set("spark.executor.cores", "1")
        .set("spark.executor.memory", "512m")
        .set("spark.dynamicAllocation.enabled", "true")
        .set("spark.dynamicAllocation.shuffleTracking.enabled", "true")
        .set("spark.dynamicAllocation.minExecutors", "1")
        .set("spark.dynamicAllocation.maxExecutors", "1")
        .start()
        .awaitExecutors(1);
  }

  private static ResourceProfile profile() {
    return new ResourceProfileBuilder()
        .require(new ExecutorResourceRequests().cores(PROFILE_CORES).memory("1024m"))
        .require(new TaskResourceRequests().cpus(1))
        .build();
  }

  /** A row of the result, and whether the stage with the profile ran on the executor that the profile asks for. */
  private record Sum(int key, long sum, boolean onLargeExecutor) implements Serializable {}

  private static boolean isLargeExecutor() {
    return Runtime.getRuntime().maxMemory() > 768 * MIB;
  }

  /** Two shuffles: the stage between them, which reads the first and writes the second, has the profile. */
  private static List<Sum> run(JavaSparkContext context, ResourceProfile profile) {
    return context.parallelize(IntStream.range(0, 40_000).boxed().toList(), 3)
        .mapToPair(n -> new Tuple2<>(n % 1_000, (long) n))
        .reduceByKey(Long::sum, 6)
        .map(pair -> new Sum(pair._1(), pair._2(), isLargeExecutor()))
        .withResources(profile)
        .mapToPair(sum -> new Tuple2<>(sum.key(), sum))
        .sortByKey(false, 4)
        .values()
        .collect();
  }

  @Test
  void aStageWithMoreCoresAndMemoryGivesStocksRowsAndIsSizedByItsExecutor() {
    List<Sum> expected;
    try (SparkApplication stock = start(Engine.STOCK)) {
      expected = run(stock.context(), profile());
      assertEquals(1_000, expected.size());
      assertTrue(expected.stream().allMatch(Sum::onLargeExecutor), "the profile's stage ran on the default executor");
    }
    try (SparkApplication application = start(Engine.UNDER_TEST)) {
      ResourceProfile profile = profile();
      assertEquals(expected, run(application.context(), profile));
      if (Engine.UNDER_TEST.isSluice()) {
        assertSizedByItsExecutor(sizing(application.context(), null, 1), sizing(application.context(), profile, 3));
      }
    }
  }

  /** The sizing of the one executor that runs tasks of {@code profile}; null for the default profile. */
  private static Sizing sizing(JavaSparkContext context, ResourceProfile profile, int tasks) {
    JavaRDD<Integer> slots = context.parallelize(IntStream.range(0, tasks).boxed().toList(), tasks);
    JavaRDD<Sizing> answers = (profile == null ? slots : slots.withResources(profile)).map(slot -> Sizing.here());
    return answers.collect().get(0);
  }

  private static void assertSizedByItsExecutor(Sizing small, Sizing large) {
    assertNotEquals(small.executorId(), large.executorId());
    assertEquals(1, small.tasks(), small::toString);
    assertEquals(PROFILE_CORES, large.tasks(), large::toString);
    // auto: 96 MiB per core, at least 256 MiB, and less only where the container has little memory.
    assertTrue(large.memoryLimitBytes() <= 96 * MIB * PROFILE_CORES, large::toString);
    assertTrue(large.memoryLimitBytes() >= small.memoryLimitBytes(), () -> small + " " + large);
    for (Sizing sizing : List.of(small, large)) {
      // Local clusters grant cores only, and each runs a task.
      assertEquals(0, sizing.spareCores(), sizing::toString);
      // But slots that have no task are idle, all but one at most while a task runs.
      assertEquals(sizing.tasks() - 1, sizing.encoderThreads(), sizing::toString);
      assertEquals(sizing.tasks() - 1, sizing.decoderThreads(), sizing::toString);
      assertTrue(sizing.runningPoolThreads() <= 2 * (sizing.tasks() - 1), sizing::toString);
    }
  }
}
