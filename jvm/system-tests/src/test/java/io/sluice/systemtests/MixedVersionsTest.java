package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.logging.log4j.Level;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Executors whose jar is another than the driver's, as while the image of a cluster is replaced: the class path of
 * executors has a link, which points to another jar when the next executor starts.
 */
@Tag("once")
@Timeout(300)
class MixedVersionsTest {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final long ROWS = 40_000;

  @TempDir private Path folder;
  private Path link;

  @BeforeEach
  void setUp() throws IOException {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "only Sluice compares versions");
    link = folder.resolve("sluice.jar");
    pointTo(JarCopy.original());
  }

  /** In one step, as image managers do it. */
  private void pointTo(Path jar) throws IOException {
    Path fresh = Files.createSymbolicLink(folder.resolve("next"), jar);
    Files.move(fresh, link, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }

  private SparkApplication.Builder cluster() {
    String tests = MixedVersionsTest.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    return SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.executor.extraClassPath", tests + ":" + link)
        .set("spark.shuffle.readHostLocalDisk", "false");
  }

  private static JavaRDD<InternalRow> shuffled(SparkApplication application) {
    return Plans.rows(Tables.events(application.session(), ROWS, 6).repartition(6, col("k")));
  }

  /** Shuffles rows anew, and checks them. */
  private static void assertJobPasses(SparkApplication application) {
    Fingerprint unshuffled = Fingerprint.of(Tables.events(application.session(), ROWS, 6)).unordered();
    assertEquals(unshuffled, Fingerprint.of(shuffled(application)).unordered());
  }

  private static long refused() {
    return ProcessCounters.here(Counter.EXECUTORS_REFUSED);
  }

  private static void awaitRefused(long count) {
    Await.until(LIMIT, () -> "refused: " + refused() + " of " + count, () -> refused() >= count);
  }

  /** Ends one executor's process; Spark's master starts another in its place. Returns the id of the one that stays. */
  private static String killOne(SparkApplication application) throws IOException {
    Map<String, Long> processes =
        ExecutorSurvey.ask(application.context(), () -> ProcessHandle.current().pid());
    List<String> ids = List.copyOf(new TreeSet<>(processes.keySet()));
    assertEquals(2, ids.size(), processes::toString);
    try (StoppedProcess stopped = StoppedProcess.stop(processes.get(ids.get(1)))) {
      stopped.kill();
    }
    Await.until(LIMIT, () -> "executor " + ids.get(1) + " is still there",
        () -> application.events().removedExecutors().contains(ids.get(1)));
    return ids.get(0);
  }

  @Test
  void anExecutorWithOtherClassesIsRefusedAndTheJobPasses() throws IOException {
    Path otherClasses = JarCopy.withOtherClasses(folder.resolve("other-classes.jar"));
    try (LogCapture log = LogCapture.open();
        SparkApplication application = cluster().start().awaitExecutors(2)) {
      pointTo(otherClasses);
      String survivor = killOne(application);
      awaitRefused(1);
      assertJobPasses(application);
      assertEquals(Set.of(survivor), ProcessCounters.byExecutor(application.context()).keySet());
      List<String> sentences = log.messages(Level.WARN, "is refused: it has Sluice " + JarCopy.VERSION);
      assertTrue(sentences.size() >= 1 && sentences.get(0).contains(", the driver has Sluice "), sentences::toString);
      assertEquals(0, application.events().failedTasks());
    }
  }

  @InAll
  @Test
  void executorsOfOtherVersionsJoinARunningApplication() throws IOException {
    Path sameClasses = JarCopy.withOtherVersion(folder.resolve("same-classes.jar"));
    Path otherClasses = JarCopy.withOtherClasses(folder.resolve("other-classes.jar"));
    try (LogCapture log = LogCapture.open();
        SparkApplication application = cluster().start().awaitExecutors(2)) {
      assertJobPasses(application);

      pointTo(sameClasses);
      killOne(application);
      // Block managers are forgotten later than executors, so those of the killed one may count for the new one.
      Await.until(LIMIT, () -> "the killed executor is not replaced",
          () -> ClusterExecutors.ids(application.session().sparkContext()).size() == 2);
      application.awaitExecutors(2);
      assertJobPasses(application);
      Map<String, String> versions = ExecutorSurvey.ask(application.context(), MixedVersionsTest::version);
      assertEquals(2, versions.size());
      assertTrue(Set.copyOf(versions.values()).contains(JarCopy.VERSION), versions::toString);
      Map<String, Map<Counter, Long>> counters = ProcessCounters.byExecutor(application.context());
      counters.forEach((id, one) -> assertTrue(one.get(Counter.WRITE_MAP_OUTPUTS) > 0, () -> id + ": " + one));
      assertEquals(0, refused());

      pointTo(otherClasses);
      String survivor = killOne(application);
      awaitRefused(2);
      assertJobPasses(application);
      assertEquals(Set.of(survivor), ProcessCounters.byExecutor(application.context()).keySet());
      List<String> sentences = log.messages(Level.WARN, "is refused: it has Sluice " + JarCopy.VERSION);
      assertTrue(sentences.size() >= 2, sentences::toString);
      assertTrue(sentences.get(0).matches("Executor \\d+ on host \\S+ is refused: it has Sluice 9\\.9\\.9 "
          + "\\(classes [0-9a-f]{16}\\), the driver has Sluice \\S+ \\(classes [0-9a-f]{16}\\)\\. .*"),
          sentences.get(0));

      pointTo(JarCopy.original());
      application.awaitExecutors(2);
      assertJobPasses(application);
      assertEquals(0, application.events().failedTasks());
      NativeMemory.assertAllReturnedBy(application);
    }
  }

  private static String version() {
    String version = io.sluice.spark.SluicePlugin.class.getPackage().getImplementationVersion();
    return String.valueOf(version);
  }

  /** After a minute. */
  @InAll
  @Test
  void whenAllExecutorsAreRefusedTheJobEndsWithTheSentence() throws IOException {
    pointTo(JarCopy.withOtherClasses(folder.resolve("other-classes.jar")));
    try (SparkApplication application = cluster().start()) {
      String message = messages(assertThrows(SparkException.class, () -> shuffled(application).count()));
      assertTrue(message.contains("no executor is left. Executor ")
          && message.contains("is refused: it has Sluice " + JarCopy.VERSION), message);
      assertTrue(refused() >= 3);
    }
  }

  /** Before Spark 4 such an executor ends before it registers: in its log is Spark's ClassNotFoundException. */
  @InAll
  @Test
  void anExecutorWithoutSluice() throws IOException {
    assumeTrue(!Tables.isSpark3(), "Spark 3 does not tell the driver why such an executor ends");
    try (LogCapture log = LogCapture.open();
        SparkApplication application = cluster().start().awaitExecutors(2)) {
      pointTo(JarCopy.empty(folder.resolve("empty.jar")));
      killOne(application);
      awaitRefused(1);
      assertJobPasses(application);
      List<String> sentences = log.messages(Level.WARN, "is refused: it has no Sluice");
      assertTrue(sentences.size() >= 1 && sentences.get(0).contains("io.sluice.spark.SluicePlugin"),
          sentences::toString);
    }
  }

  @InAll
  @Test
  void withoutThePluginTheTasksSayIt() throws IOException {
    pointTo(JarCopy.withOtherClasses(folder.resolve("other-classes.jar")));
    try (SparkApplication application = cluster().without("spark.plugins").start().awaitExecutors(2)) {
      String message = messages(assertThrows(SparkException.class, () -> shuffled(application).count()));
      assertTrue(message.contains("has Sluice " + JarCopy.VERSION + " (classes ")
          && message.contains("and the driver, which registered shuffle "), message);
    }
  }

  private static String messages(Throwable thrown) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      text.append(cause.getMessage()).append('\n');
    }
    return text.toString();
  }
}
