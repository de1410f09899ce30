package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/**
 * An application that has Spark's core on its class path and no Spark SQL: Sluice loads, leaves the shuffle to Spark,
 * and says why. In a JVM of its own, because this one has the classes.
 */
class WithoutSqlClassesTest {
  private static final long LIMIT_SECONDS = 120;
  private static final List<String> JARS_OF_SQL = List.of("spark-sql", "spark-catalyst", "spark-hive");

  @TempDir private Path folder;

  /** Run without those jars. */
  static final class Job {
    private Job() {}

    public static void main(String[] arguments) {
      SparkConf conf = new SparkConf().setMaster("local[1]").setAppName("core only").set("spark.ui.enabled", "false")
          .set("spark.local.dir", arguments[0]).set("spark.plugins", SluicePlugin.class.getName())
          .set("spark.shuffle.manager", SluiceShuffleManager.class.getName());
      try (JavaSparkContext context = new JavaSparkContext(conf)) {
        Map<Integer, Integer> sums = new TreeMap<>(context.parallelize(List.of(1, 2, 3, 4, 5), 2)
            .mapToPair(n -> new Tuple2<>(n % 2, n)).reduceByKey(Integer::sum, 3).collectAsMap());
        SluiceShuffleManager manager = (SluiceShuffleManager) SparkEnv.get().shuffleManager();
        System.out.println("RESULT " + sums + " " + manager.fallbacks(FallbackReason.NO_SQL_CLASSES) + " "
            + manager.counters().get(Counter.SHUFFLES_STOCK) + " " + hasSql());
      }
    }

    private static boolean hasSql() {
      return Job.class.getResource("/org/apache/spark/sql/catalyst/expressions/UnsafeRow.class") != null;
    }
  }

  @Test
  void shufflesAreSparksAndCounted() throws IOException, InterruptedException {
    String output = outputOfJob();
    List<String> results = output.lines().filter(line -> line.startsWith("RESULT ")).collect(Collectors.toList());
    assertEquals(List.of("RESULT {0=6, 1=9} 1 1 false"), results, output);
    assertTrue(output.contains(FallbackReason.NO_SQL_CLASSES.text()), output);
  }

  private String outputOfJob() throws IOException, InterruptedException {
    Path answer = folder.resolve("answer");
    List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java"));
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", classPath(), Job.class.getName(), folder.resolve("local").toString()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(answer.toFile()).start();
    try {
      assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "the JVM does not end");
    } finally {
      process.destroyForcibly();
    }
    String output = new String(Files.readAllBytes(answer), StandardCharsets.UTF_8);
    assertEquals(0, process.exitValue(), output);
    return output;
  }

  private static String classPath() {
    String all = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return Arrays.stream(all.split(File.pathSeparator))
        .filter(entry -> JARS_OF_SQL.stream().noneMatch(new File(entry).getName()::startsWith))
        .collect(Collectors.joining(File.pathSeparator));
  }
}
