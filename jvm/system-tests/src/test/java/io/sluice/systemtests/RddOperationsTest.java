package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.logging.log4j.Level;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Barrier stages, checkpoints, broadcasts, evicted caches, tasks that fail and the like give stock's results in two
 * executors that read each other's blocks, and the driver's log has no warning that stock's has not.
 */
@Timeout(180)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RddOperationsTest {
  /** Two cores; a task may fail twice. */
  private static final String STOCKS_MASTER = "local[2,3]";

  /** What these warn of depends on time, as of a worker that registers late. */
  private static final List<String> NOT_OF_JOBS = List.of("org.apache.spark.deploy.", "org.apache.spark.rpc.",
      "org.apache.spark.network.", "org.apache.spark.HeartbeatReceiver");

  private final Map<String, Object> expected = new LinkedHashMap<>();
  private Object expectedWithFaults;
  private final Map<String, Object> results = new LinkedHashMap<>();
  private final Set<String> stocksWarnings = new TreeSet<>();
  private final Set<String> warnings = new TreeSet<>();
  private SparkApplication application;

  @BeforeAll
  void runAll() {
    try (LogCapture log = LogCapture.openForAll();
        SparkApplication stock = SparkApplication.on(Engine.STOCK).master(STOCKS_MASTER).start()) {
      RddOperations.all().forEach((name, body) -> expected.put(name, body.apply(stock.session())));
      stocksWarnings.addAll(withoutNumbers(log));
      expectedWithFaults = RddOperations.withFaults(stock.context());
    }
    try (LogCapture log = LogCapture.openForAll()) {
      // Blocks of the other executor, which is not to open its files itself.
      application = SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
          .set("spark.task.maxFailures", "3").set("spark.shuffle.readHostLocalDisk", "false").start()
          .awaitExecutors(2);
      RddOperations.all().forEach((name, body) -> results.put(name, run(name, body)));
      warnings.addAll(withoutNumbers(log));
    }
  }

  private Object run(String name, Function<SparkSession, Object> body) {
    try {
      return body.apply(application.session());
    } catch (RuntimeException e) {
      throw new AssertionError(name + " failed", e);
    }
  }

  private static List<String> withoutNumbers(LogCapture log) {
    return log.messagesWithout(Level.WARN, NOT_OF_JOBS).stream()
        .map(message -> message.replaceAll("[0-9a-f-]*\\d[0-9a-f-]*", "#"))
        .collect(Collectors.toList());
  }

  @AfterAll
  void stop() {
    if (application != null) {
      application.close();
    }
  }

  static Set<String> names() {
    return RddOperations.all().keySet();
  }

  @ParameterizedTest
  @MethodSource("names")
  void resultsAreStocks(String name) {
    assertEquals(expected.get(name), results.get(name));
  }

  @Test
  void theLogHasNoOtherWarningsThanStocks() {
    Set<String> more = new TreeSet<>(warnings);
    more.removeAll(stocksWarnings);
    // Spark says so of every plugin of an application whose spark.app.id is not set.
    more.removeIf(message -> message.startsWith("Using default name plugin."));
    // And of each cluster whose checkpoints are local files, which stock's results here were made without.
    more.removeIf(message -> message.startsWith("Spark is not running in local mode, therefore the checkpoint"));
    // Of a job that is submitted before the first executor has registered.
    more.removeIf(message -> message.startsWith("Initial job has not accepted any resources"));
    assertEquals(Set.of(), more);
  }

  @Test
  void tasksThatFailAreRepeated() {
    int failedBefore = application.events().failedTasks();
    assertEquals(expectedWithFaults, RddOperations.withFaults(application.context()));
    assertTrue(application.events().failedTasks() >= failedBefore + 7, "three map tasks and four reduce tasks");
    assertEquals(List.of(), application.events().fetchFailures());
    NativeMemory.assertAllReturnedBy(application);
  }

  @Test
  void aTaskThatFailsTooOftenFailsTheJobAlone() {
    int failedBefore = application.events().failedTasks();
    Exception failure = assertThrows(Exception.class, () -> RddOperations.thatFails(application.context()));
    assertTrue(failure.getMessage().contains("on purpose"), failure::getMessage);
    assertTrue(application.events().failedTasks() >= failedBefore + 3);
    NativeMemory.assertAllReturnedBy(application);
    assertEquals(expectedWithFaults, RddOperations.withFaults(application.context()));
  }

  @Test
  void blocksCameFromTheOtherExecutor() {
    assertTrue(application.events().totals().remoteBlocks() >= 20, () -> application.events().totals().toString());
  }

  @Test
  void shufflesAreSluices() {
    if (Engine.writesFrames()) {
      assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_RECORDS) >= 10);
      assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) >= 2);
    }
  }
}
