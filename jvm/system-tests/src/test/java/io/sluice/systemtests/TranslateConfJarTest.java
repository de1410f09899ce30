package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.apache.spark.SparkConf;
import org.apache.spark.util.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code java -jar} with {@code conf}: the packaged jar, with the line's own jars of Spark from {@code SPARK_HOME}. */
class TranslateConfJarTest {
  private static final String SPARK = System.getenv("SPARK_HOME");
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

  @Test
  void theMemoryOfExecutorsIsSaid() throws Exception {
    Answer answer = conf(SPARK, "spark.master=yarn", "spark.executor.memory=8g", "spark.executor.cores=4");
    assertEquals(0, answer.exitCode(), answer.output());
    assertTrue(answer.output().contains("spark.executor.memoryOverhead"), answer.output());
    Answer pod = conf(SPARK, "spark.master=k8s", "spark.executor.memory=8g", "spark.executor.cores=4",
        "spark.executor.memoryOverhead=3g", "spark.sluice.mode=UCX", "spark.sluice.cache.hostLimit=1g");
    assertEquals(0, pod.exitCode(), pod.output());
    assertTrue(pod.output().contains("one-sided reads take up to"), pod.output());
    Answer wrong = conf(SPARK, "spark.sluice.memory.limit=1m");
    assertEquals(2, wrong.exitCode(), wrong.output());
    assertTrue(wrong.output().contains("error: conf: spark.sluice.memory.limit = \"1m\" is not valid"), wrong.output());
  }

  @Test
  void withoutSparkTheErrorSaysWhatToDo() throws Exception {
    for (String home : Arrays.asList(null, "")) {
      Answer answer = conf(home, "--from", "spark-defaults.conf");
      assertEquals(2, answer.exitCode(), answer.output());
      assertTrue(answer.output().endsWith("error: conf needs Spark's classes, and SPARK_HOME is not set. Set "
          + "SPARK_HOME to the folder of a Spark installation; with the Python package and PySpark, python -m "
          + "sluice_spark conf finds Spark itself\n"), answer.output());
    }
  }

  @Test
  void helpNeedsNoSpark() throws Exception {
    Answer conf = conf(null, "--help");
    assertEquals(0, conf.exitCode(), conf.output());
    assertTrue(conf.output().contains("usage: java -jar JAR conf"), conf.output());
    Answer report = java(null, "report", "-h");
    assertEquals(0, report.exitCode(), report.output());
    assertTrue(report.output().contains("usage: java -jar JAR report"), report.output());
    Answer nothing = java(null, "report");
    assertEquals(2, nothing.exitCode(), nothing.output());
    assertTrue(nothing.output().endsWith("error: no log is named (--help shows what there is)\n"), nothing.output());
  }

  @Test
  void aSparkForANewerJavaIsNamed(@TempDir Path folder) throws Exception {
    byte[] spark;
    try (InputStream in = SparkConf.class.getResourceAsStream("SparkConf.class")) {
      spark = in.readAllBytes();
    }
    // The lower byte of the class file's version: that of Java 200.
    spark[7] = (byte) 244;
    Answer answer = conf(home(folder, spark), "spark.executor.cores=2");
    assertEquals(2, answer.exitCode(), answer.output());
    assertTrue(answer.output().contains("error: conf needs Java 200 or later with the Spark in " + folder + ", and "
        + "this is Java "), answer.output());
  }

  @Test
  void whatIsNoMistakeOfTheUserIsPrintedWithItsTrace(@TempDir Path folder) throws Exception {
    Answer answer = conf(home(folder, new byte[] {1, 2, 3, 4, 0, 0, 0, 52}), "spark.executor.cores=2");
    assertEquals(1, answer.exitCode(), answer.output());
    assertTrue(answer.output().contains("error: conf failed:") && answer.output().contains("ClassFormatError")
        && answer.output().contains("\tat "), answer.output());
  }

  /** A {@code SPARK_HOME} whose only class is this {@code SparkConf}. */
  private static String home(Path folder, byte[] sparkConf) throws IOException {
    Path jar = Files.createDirectories(folder.resolve("jars")).resolve("spark.jar");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      out.putNextEntry(new ZipEntry(SparkConf.class.getName().replace('.', '/') + ".class"));
      out.write(sparkConf);
      out.closeEntry();
    }
    return folder.toString();
  }

  private record Answer(int exitCode, String output) {}

  private static int translate(Path from, Path to) throws Exception {
    Answer answer = conf(SPARK, "--from", from.toString(), "--to", to.toString());
    assertTrue(answer.output().contains(from.toString()), answer.output());
    return answer.exitCode();
  }

  private static Answer conf(String sparkHome, String... arguments) throws Exception {
    return java(sparkHome, Stream.concat(Stream.of("conf"), Stream.of(arguments)).toArray(String[]::new));
  }

  /** {@code java -jar JAR}, with this {@code SPARK_HOME}, or without one if it is null. */
  private static Answer java(String sparkHome, String... arguments) throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    Path jar = Path.of(
        Class.forName(Engine.UNDER_TEST.managerClass()).getProtectionDomain().getCodeSource().getLocation().toURI());
    List<String> command = new ArrayList<>(List.of(JavaUnderTest.command(), "-jar", jar.toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    if (sparkHome == null) {
      builder.environment().remove("SPARK_HOME");
    } else {
      builder.environment().put("SPARK_HOME", sparkHome);
    }
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(1, TimeUnit.MINUTES), "the command does not end");
    return new Answer(process.exitValue(), output);
  }
}
