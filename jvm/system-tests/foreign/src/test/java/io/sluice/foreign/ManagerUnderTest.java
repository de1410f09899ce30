package io.sluice.foreign;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Helps a suite of Spark's run on the manager under test: the setting, and the names of the tests
 * that cannot hold on it.
 *
 * <p>Suites whose configuration reads system properties get the manager from {@code spark.shuffle.manager},
 * which the runner sets; the others ({@code new SparkConf(false)}) get it from {@link #set}.
 */
final class ManagerUnderTest {
  /** The class under test; if a test fails on the stock manager too, the machine is at fault and not Sluice. */
  static final String CLASS_NAME =
      System.getProperty("sluice.manager", "io.sluice.spark.SluiceShuffleManager");

  private static final String MODE = System.getProperty("spark.sluice.mode");
  private static final boolean PLUGIN = System.getProperty("spark.plugins", "").contains("SluicePlugin");
  private static final boolean LONG = Boolean.getBoolean("sluice.longTests");
  private static final boolean STOCK = CLASS_NAME.startsWith("org.apache.spark.");

  private ManagerUnderTest() {}

  static Class<?> managerClass() {
    try {
      return Class.forName(CLASS_NAME);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("the manager under test is not on the class path", e);
    }
  }

  static void set(SparkConf conf) {
    conf.set("spark.shuffle.manager", CLASS_NAME);
    conf.set("spark.sluice.mode", MODE);
    conf.setIfMissing("spark.plugins", System.getProperty("spark.plugins", ""));
  }

  /**
   * Called after each test: whatever Spark runs in this process, it runs on the manager under test.
   *
   * @throws IllegalStateException when a suite has made its own configuration, so that its results prove nothing
   */
  static void check() {
    SparkEnv env = SparkEnv.get();
    if (env != null && !env.shuffleManager().getClass().getName().equals(CLASS_NAME)) {
      throw new IllegalStateException("this suite ran on " + env.shuffleManager().getClass().getName());
    }
  }

  /**
   * Names of the tests of {@code suite} that {@code excluded-tests.tsv} lists for this run; none on the stock manager.
   * ScalaTest reports each as ignored, with "(excluded)" behind its name.
   */
  static Seq<String> excluded(Object suite) {
    String name = suite.getClass().getSuperclass().getSimpleName();
    List<String> tests =
        STOCK
            ? List.of()
            : exclusions().stream().filter(row -> row[0].equals(name) && isOfThisRun(row[2])).map(row -> row[1])
                .toList();
    return CollectionConverters.asScala(tests).toSeq();
  }

  private static boolean isOfThisRun(String modes) {
    return switch (modes) {
      case "all" -> true;
      case "plugin" -> PLUGIN;
      case "long" -> !LONG;
      default -> List.of(modes.split(",")).contains(MODE);
    };
  }

  /** Rows of suite, test, modes, reason. A row without all four is an error: nothing is left out silently. */
  static List<String[]> exclusions() {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                ManagerUnderTest.class.getResourceAsStream("/excluded-tests.tsv"), StandardCharsets.UTF_8))) {
      return lines.lines().filter(line -> !line.isBlank() && !line.startsWith("#")).map(ManagerUnderTest::row).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String[] row(String line) {
    String[] row = line.split("\t");
    if (row.length != 4 || row[3].isBlank()) {
      throw new IllegalStateException("excluded-tests.tsv: want suite<TAB>test<TAB>modes<TAB>reason: " + line);
    }
    return row;
  }
}
