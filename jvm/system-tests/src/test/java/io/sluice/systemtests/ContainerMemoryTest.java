package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.SluiceShuffleManager;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * An executor in a container of the size that YARN and Kubernetes give by default: the heap, and 384 MiB or a tenth of
 * it. If the executor uses more than that beyond the heap, the kernel kills it, and the job fails. Where no control
 * group can be made, the peak of its resident memory is compared with that size.
 */
@InAll
@Tag("once")
class ContainerMemoryTest {
  private static final long MIB = 1 << 20;
  private static final int HEAP_MIB = 700;
  private static final int OVERHEAD_MIB = 384;
  private static final long ROWS = 2_000_000;
  /** Rows of 500 bytes each. */
  private static final long LONG_ROWS = 1_000_000;

  /**
   * What an executor reports: the job's result, the peak resident memory of its process, and the memory limit of its
   * shuffles, if any.
   */
  private record Run(Fingerprint result, long peakBytes, long limitBytes) {}

  @ParameterizedTest
  @EnumSource
  void defaultSettingsStayWithinTheDefaultContainersMemory(Job job) throws IOException {
    assumeTrue(job == Job.REPARTITION || Boolean.getBoolean("systemtests.inAll"), "runs with ./sluice test --all");
    Run sluice = run(Engine.UNDER_TEST, job);
    Run stock = run(Engine.STOCK, job);
    System.out.printf(
        "peak memory of an executor with a heap of %d MiB in a container of %d MiB, %s: stock %d MiB,"
            + " Sluice %d MiB%n",
        job.heapMib(), job.heapMib() + OVERHEAD_MIB, job, stock.peakBytes() / MIB, sluice.peakBytes() / MIB);
    assertEquals(stock.result(), sluice.result());
    assertTrue(sluice.peakBytes() < (job.heapMib() + OVERHEAD_MIB) * MIB);
    assertEquals(OVERHEAD_MIB / 6 * MIB, sluice.limitBytes(), "the limit must follow from the container's");
  }

  private enum Job {
    REPARTITION {
      @Override
      Dataset<Row> on(SparkSession session) {
        return session.range(0, ROWS, 1, 4)
            .selectExpr("id", "id % 1000 AS k", "sha2(CAST(id AS STRING), 512) AS text", "concat('name ', id) AS name")
            .repartition(8, col("id"));
      }
    },
    SORT_OF_LONG_ROWS {
      @Override
      Dataset<Row> on(SparkSession session) {
        return session.range(0, LONG_ROWS, 1, 4).selectExpr("xxhash64(id) AS k",
            "concat(sha2(CAST(id AS STRING), 512), repeat(sha2(CAST(-id AS STRING), 512), 2), sha2('x', 384)) AS text")
            .orderBy("k");
      }
    },
    /** The row's page and its encoded form alone are more than what the container has beside the heap. */
    ROW_OF_150_MIB {
      @Override
      int heapMib() {
        return 1800;
      }

      @Override
      Dataset<Row> on(SparkSession session) {
        return LargeRowsTest.rows(session, 150);
      }
    };

    int heapMib() {
      return HEAP_MIB;
    }

    abstract Dataset<Row> on(SparkSession session);
  }

  private static Run run(Engine engine, Job job) throws IOException {
    int heap = job.heapMib();
    try (MemoryCgroup container = MemoryCgroup.create((heap + OVERHEAD_MIB) * MIB).orElse(null);
        SparkApplication application = SparkApplication.on(engine)
            .master("local-cluster[1,2," + heap + "]")
            .set("spark.executor.memory", heap + "m")
            .setAll(container(container, "contained-java-" + engine + job))
            // The whole heap is touched at the start, so that it is resident, as it becomes in a long-lived executor.
            .set("spark.executor.extraJavaOptions", "-Xms" + heap + "m -XX:+AlwaysPreTouch")
            .set("spark.task.maxFailures", "1")
            .start().awaitExecutors(1)) {
      Fingerprint result = Fingerprint.of(job.on(application.session())).unordered();
      return new Run(result, ask(application, ContainerMemoryTest::peakOfThisProcess),
          engine.isSluice() ? ask(application, ContainerMemoryTest::limitOfThisProcess) : 0);
    }
  }

  /** Settings that put executors into the container; without one, the limit that they would take in it. */
  private static Map<String, String> container(MemoryCgroup container, String name) throws IOException {
    return container == null ? Map.of("spark.sluice.memory.limit", OVERHEAD_MIB / 6 + "m")
        : Map.of("spark.executorEnv.JAVA_HOME",
            container.installJava(SparkApplication.workDir().resolve(name)).toString());
  }

  private static long ask(SparkApplication application, ExecutorSurvey.Question<Long> question) {
    return ExecutorSurvey.ask(application.context(), question).values().stream().mapToLong(Long::longValue).max()
        .orElseThrow();
  }

  private static long limitOfThisProcess() {
    return ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).settings().memory().limit().bytes();
  }

  private static long peakOfThisProcess() throws IOException {
    String line = Files.readAllLines(Path.of("/proc/self/status")).stream().filter(l -> l.startsWith("VmHWM:"))
        .findFirst().orElseThrow();
    return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
  }
}
