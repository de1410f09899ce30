package io.sluice.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.InAll;
import io.sluice.spark.SluicePlugin;
import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.DiskBlockManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Sub-directories, data, index and checksum files have the permissions that Spark's own shuffle gives them, also where
 * the shuffle service deletes outputs. Run in a JVM whose files nobody else can read or write unless that is asked for.
 */
class FilePermissionsTest {
  private static final long LIMIT_SECONDS = 120;
  private static final String STOCK = "org.apache.spark.shuffle.sort.SortShuffleManager";

  @TempDir private Path folder;

  /** What the JVM under test runs: a job on each engine, and for each a line that says what permissions there are. */
  static final class Jobs {
    private static final int SPILLS = 300;

    private Jobs() {}

    public static void main(String[] arguments) throws IOException {
      Path folder = Path.of(arguments[0]);
      for (String service : List.of("true", "false")) {
        report("stock " + service, session(folder, STOCK, service, ""));
        report("native " + service, session(folder, SluiceShuffleManager.class.getName(), service, ""));
        report("java " + service, session(folder, SluiceShuffleManager.class.getName(), service, "/none.so"));
      }
    }

    private static SparkSession session(Path folder, String manager, String service, String library) {
      SparkSession.Builder builder = SparkSession.builder().master("local[2]")
          .config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
          .config("spark.local.dir", folder.toString()).config("spark.shuffle.manager", manager)
          .config("spark.shuffle.service.enabled", service)
          .config("spark.shuffle.service.removeShuffle", "true");
      if (!manager.equals(STOCK)) {
        builder.config("spark.plugins", SluicePlugin.class.getName());
        if (!library.isEmpty()) {
          builder.config("spark.sluice.native.library", library);
        }
      }
      return builder.getOrCreate();
    }

    private static void report(String name, SparkSession session) throws IOException {
      assertEquals(1000, session.range(0, 1000, 1, 4).repartition(5).count());
      DiskBlockManager disk = SparkEnv.get().blockManager().diskBlockManager();
      makeSpills(disk, name.startsWith("stock"));
      Map<String, TreeSet<String>> found = new TreeMap<>();
      for (File directory : disk.localDirs()) {
        try (Stream<Path> below = Files.walk(directory.toPath())) {
          for (Path path : below.filter(file -> !file.getFileName().toString().startsWith("temp_")).toList()) {
            found.computeIfAbsent(kind(path), none -> new TreeSet<>())
                .add(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
          }
        }
      }
      System.out.println("PERMISSIONS " + name + " " + found);
      session.stop();
    }

    /** So many that they lie in most of the sub-directories. */
    private static void makeSpills(DiskBlockManager disk, boolean stock) throws IOException {
      SpillFiles spills = new SpillFiles(disk, new Counters());
      for (int i = 0; i < SPILLS; i++) {
        if (stock) {
          disk.createTempShuffleBlock()._2().createNewFile();
        } else {
          spills.write(file -> file.createNewFile() ? 1 : 0);
        }
      }
    }

    private static String kind(Path path) {
      String name = path.getFileName().toString();
      if (!Files.isDirectory(path)) {
        return name.substring(name.lastIndexOf('.') + 1);
      }
      return name.startsWith("blockmgr-") ? "local directory" : "sub-directory";
    }
  }

  /** The lines of {@link Jobs}, by the name of the job. */
  private Map<String, String> permissions() throws IOException, InterruptedException {
    Path answer = folder.resolve("answer");
    List<String> command = new ArrayList<>(List.of("sh", "-c", "umask 077 && exec \"$@\"", "sh",
        System.getProperty("java.home") + "/bin/java"));
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    String classes = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    command.addAll(List.of("-Dsluice.native.library=" + System.getProperty("sluice.native.library"), "-cp", classes,
        Jobs.class.getName(), Files.createDirectory(folder.resolve("local")).toString()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(answer.toFile()).start();
    try {
      assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "the JVM does not end");
    } finally {
      process.destroyForcibly();
    }
    String output = new String(Files.readAllBytes(answer), StandardCharsets.UTF_8);
    assertEquals(0, process.exitValue(), output);
    return output.lines().filter(line -> line.startsWith("PERMISSIONS "))
        .map(line -> line.substring("PERMISSIONS ".length()))
        .collect(Collectors.toMap(line -> line.substring(0, line.indexOf('{') - 1),
            line -> line.substring(line.indexOf('{'))));
  }

  @InAll
  @Test
  void areThoseThatSparkGives() throws Exception {
    Map<String, String> found = permissions();
    assertEquals(6, found.size(), found.toString());
    for (String service : List.of("true", "false")) {
      String stock = found.get("stock " + service);
      assertEquals(stock, found.get("native " + service), "with the native library, shuffle service " + service);
      assertEquals(stock, found.get("java " + service), "without the native library, shuffle service " + service);
    }
    // Else equal would mean nothing.
    assertTrue(found.get("stock true").contains("sub-directory=[rwx-w----]"), found.toString());
    assertTrue(found.get("stock true").contains("data=[rw----r--]"), found.toString());
    assertTrue(found.get("stock false").contains("data=[rw-------]"), found.toString());
    assertTrue(found.get("stock false").contains("sub-directory=[rwx------]"), found.toString());
  }
}
