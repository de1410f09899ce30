package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Structured Streaming: queries with state give stock's rows in each batch, also when they continue from a checkpoint
 * that stock, or another version of Sluice, has made, and when stock continues from Sluice's.
 */
@Tag("once")
@Timeout(300)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StreamingTest {
  private static final int FILES = 3;

  private static final String CLEANUP = "spark.sluice.sql.cleanup";

  @TempDir static Path folder;
  /** By query, then by batch. */
  private Map<String, List<String>> expected;

  static SparkApplication.Builder application(Engine engine) {
    // Each partition has files of its state.
    return SparkApplication.on(engine).set("spark.sql.shuffle.partitions", "2")
        .set("spark.sql.session.timeZone", "UTC");
  }

  @BeforeAll
  void stock() throws IOException {
    expected = chain("stock", List.of(Engine.STOCK), FILES);
    expected.forEach((name, rows) -> assertTrue(rows.size() > 100, () -> name + ": " + rows));
  }

  /** Runs the queries once for each engine, each time with {@code files} more files, from the checkpoints so far. */
  private Map<String, List<String>> chain(String name, List<Engine> engines, int files) throws IOException {
    Map<String, List<String>> results = new TreeMap<>();
    for (int run = 0; run < engines.size(); run++) {
      Streams.addFiles(input(name), run * files, (run + 1) * files);
      run(engines.get(run), name).forEach((query, rows) -> add(results, query, rows));
    }
    return results;
  }

  private static void add(Map<String, List<String>> results, String query, List<String> rows) {
    results.computeIfAbsent(query, key -> new ArrayList<>()).addAll(rows);
  }

  private Map<String, List<String>> run(Engine engine, String name) {
    return run(engine, name, Map.of());
  }

  private Map<String, List<String>> run(Engine engine, String name, Map<String, String> settings) {
    try (SparkApplication application = application(engine).setAll(settings).start()) {
      Map<String, List<String>> results = Streams.run(application.session(), input(name), checkpoints(name));
      if (engine != Engine.STOCK && Engine.writesFrames()) {
        // Each query has at least one shuffle a batch.
        assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) >= Streams.names().size());
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        assertTrue(ProcessCounters.here(Counter.WRITE_RECORDS) > 0);
        // The batches are collected with foreachBatch, whose shuffles only "all" removes.
        assertEquals(settings.containsKey(CLEANUP), ProcessCounters.here(Counter.CLEANUP_SHUFFLES) > 0);
        NativeMemory.assertAllReturned();
      }
      return results;
    }
  }

  private Path input(String name) {
    return folder.resolve(name).resolve("input");
  }

  private Path checkpoints(String name) {
    return folder.resolve(name).resolve("checkpoints");
  }

  /**
   * A run ends with a batch without a file where only a watermark has moved; so runs that are divided have more of
   * them.
   */
  private static Map<String, List<String>> withoutBatchNumbers(Map<String, List<String>> results) {
    Map<String, List<String>> plain = new TreeMap<>();
    results.forEach(
        (name, rows) -> plain.put(name, rows.stream().map(row -> row.substring(row.indexOf(' '))).sorted().toList()));
    return plain;
  }

  @Test
  void everyBatchHasStocksRows() throws IOException {
    assertEquals(expected, chain("sluice", List.of(Engine.UNDER_TEST), FILES));
  }

  @InAll
  @Test
  void everyBatchHasStocksRowsWhereOutputsAreRemovedBehindIt() throws IOException {
    String name = "cleaned";
    Streams.addFiles(input(name), 0, FILES);
    assertEquals(expected, run(Engine.UNDER_TEST, name, Map.of(CLEANUP, "all")));
  }

  @InAll
  @Test
  void stockAndSluiceContinueFromEachOthersCheckpoints() throws IOException {
    Map<String, List<String>> results =
        chain("mixed", List.of(Engine.STOCK, Engine.UNDER_TEST, Engine.STOCK), 1);
    assertEquals(withoutBatchNumbers(expected), withoutBatchNumbers(results));
  }

  @InAll
  @Test
  void anotherVersionContinuesFromTheCheckpoint() throws IOException, InterruptedException {
    if (!Engine.UNDER_TEST.isSluice()) {
      return;
    }
    String name = "versions";
    Map<String, List<String>> results = chain(name, List.of(Engine.UNDER_TEST), 1);
    Streams.addFiles(input(name), 1, FILES);
    Path jar = JarCopy.withOtherClasses(folder.resolve("other.jar"));
    try (Program program = Program.start(onJar(jar, name), folder.resolve("other.log"))) {
      assertEquals(JarCopy.VERSION, program.await(StreamsProgram.VERSION));
      assertTrue(Long.parseLong(program.await(StreamsProgram.SHUFFLES)) >= Streams.names().size());
      for (String line = program.await(""); !line.equals(StreamsProgram.END); line = program.await("")) {
        String[] parts = line.substring(StreamsProgram.ROW.length()).split("\t");
        add(results, parts[0], List.of(parts[1]));
      }
      program.awaitEnd();
    }
    assertEquals(withoutBatchNumbers(expected), withoutBatchNumbers(results));
  }

  private ProcessBuilder onJar(Path jar, String name) {
    String tests = StreamingTest.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    List<String> command = new ArrayList<>(List.of(JavaUnderTest.command()));
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(option -> option.startsWith("--add-opens") || option.startsWith("-X")).forEach(command::add);
    for (String property : List.of("log4j2.configurationFile", "sluice.manager", "sluice.mode")) {
      command.add("-D" + property + "=" + System.getProperty(property));
    }
    command.add("-Dlog4j2.logFile=" + folder.resolve("other.log"));
    command.add("-Dsystemtests.workDir=" + folder.resolve("work"));
    command.addAll(List.of("-cp", tests + ":" + jar + ":" + System.getenv("SPARK_HOME") + "/jars/*",
        StreamsProgram.class.getName(), input(name).toString(), checkpoints(name).toString()));
    return new ProcessBuilder(command).redirectError(folder.resolve("other.err").toFile());
  }
}
