package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Two applications on one machine with the same local directory, whose shuffles have the same numbers: files, and map
 * outputs in memory that executors read one-sidedly.
 */
@Tag("once")
class SameDirectoriesTest {
  private static final long ROWS = 100_000;

  @Test
  void neitherSeesTheOthersFiles() throws Exception {
    assertApart(SparkApplication.LOCAL, Engine.mode());
  }

  @InAll
  @Test
  void neitherSeesTheOthersMemory() throws Exception {
    OneSidedTransportTest.assumeUcx();
    assertApart(SparkApplication.CLUSTER, "UCX");
  }

  private static void assertApart(String master, String mode) throws Exception {
    Path folder = Files.createDirectories(SparkApplication.workDir().resolve("same-directories"));
    Path log = SparkApplication.workDir().resolve("same-directories.log");
    try (Program other = Program.start(other(folder, master, mode, log), log);
        SparkApplication application = start(folder.toString(), master, mode)) {
      String expected = Fingerprint.of(Tables.events(application.session(), ROWS, 4)).unordered().toString();
      other.await(SameDirectoriesProgram.UP);
      other.goOn();
      for (int round = 0; round < SameDirectoriesProgram.ROUNDS; round++) {
        assertEquals(expected, shuffled(application));
        assertEquals(expected, other.await(SameDirectoriesProgram.ROUND));
      }
      other.awaitEnd();
      // What the other has removed at its end was its own.
      assertEquals(expected, shuffled(application));
    } finally {
      ShuffleFiles.deleteTree(folder);
    }
  }

  /** An application with this local directory. If it has executors, each has read blocks one-sidedly. */
  static SparkApplication start(String folder, String master, String mode) {
    SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .master(master)
        .set("spark.local.dir", folder)
        .set("spark.shuffle.readHostLocalDisk", "false")
        .setAll(Map.of("spark.sluice.mode", mode))
        .start();
    if (application.isCluster()) {
      application.awaitExecutors(2);
      OneSidedReads.await(application, () -> shuffled(application));
    }
    return application;
  }

  static String shuffled(SparkApplication application) {
    return Fingerprint.of(Tables.events(application.session(), ROWS, 4).repartition(8, col("k"))).unordered()
        .toString();
  }

  private static ProcessBuilder other(Path folder, String master, String mode, Path log) throws IOException {
    List<String> command =
        new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m"));
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("--add-opens")).forEach(command::add);
    for (String property : List.of("sluice.manager", "sluice.mode", "systemtests.workDir",
        "log4j2.configurationFile")) {
      if (System.getProperty(property) != null) {
        command.add("-D" + property + "=" + System.getProperty(property));
      }
    }
    command.addAll(List.of("-Dlog4j2.logFile=" + log + ".spark", "-cp", System.getProperty("java.class.path"),
        SameDirectoriesProgram.class.getName(), folder.toString(), master, mode));
    return new ProcessBuilder(command).redirectError(log.toFile());
  }
}
