package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.util.Utils;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The translation of a {@code spark-defaults.conf}, by the packaged jar with the line's own jars of Spark. */
@Tag("everyLine")
class TranslateConfJarTest {
  private static final String SOURCE = """
      # of the RAPIDS guide
      spark.shuffle.manager  com.nvidia.spark.rapids.spark350.RapidsShuffleManager
      spark.plugins          com.nvidia.spark.SQLPlugin
      spark.rapids.shuffle.mode=UCX
      spark.rapids.shuffle.multiThreaded.writer.threads: \\
          4
      spark.executorEnv.UCX_ERROR_SIGNALS=
      spark.executorEnv.UCX_TLS=cuda_copy,cuda_ipc,rc,tcp
      spark.app.name         größer
      """;

  @Test
  void sparkReadsWhatItIsMeantToRead(@TempDir Path folder) throws Exception {
    Path from = Files.writeString(folder.resolve("spark-defaults.conf"), SOURCE);
    Path to = folder.resolve("sluice-defaults.conf");
    assertEquals(0, translate(from, to));
    Map<String, String> read = new TreeMap<>();
    Utils.getPropertiesFromFile(to.toString()).foreach(setting -> read.put(setting._1(), setting._2()));
    assertEquals(new TreeMap<>(Map.of(
        "spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager",
        "spark.plugins", "com.nvidia.spark.SQLPlugin,io.sluice.spark.SluicePlugin",
        "spark.sluice.mode", "UCX",
        "spark.sluice.writer.threads", "4",
        "spark.executorEnv.UCX_TLS", "sm,rc,tcp",
        "spark.app.name", "größer")), read);
    assertEquals(SOURCE, Files.readString(from));
  }

  @Test
  void aDamagedFileIsNotTranslated(@TempDir Path folder) throws Exception {
    Path from = Files.writeString(folder.resolve("spark-defaults.conf"), SOURCE + "spark.damaged \\u12");
    Path to = folder.resolve("sluice-defaults.conf");
    assertEquals(2, translate(from, to));
    assertTrue(Files.notExists(to));
  }

  private static int translate(Path from, Path to) throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    Path jar = Path.of(
        Class.forName(Engine.UNDER_TEST.managerClass()).getProtectionDomain().getCodeSource().getLocation().toURI());
    Process process = new ProcessBuilder(JavaUnderTest.command(), "-cp",
        jar + File.pathSeparator + Path.of(System.getenv("SPARK_HOME"), "jars", "*"),
        "io.sluice.spark.migration.TranslateConf", "--from", from.toString(), "--to", to.toString())
        .redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(1, TimeUnit.MINUTES), "the translation does not end");
    assertTrue(output.contains(from.toString()), output);
    return process.exitValue();
  }
}
