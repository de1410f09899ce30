package io.sluice.doctor.spark;

import static io.sluice.doctor.check.Subject.SPARK_FRAMES;
import static io.sluice.doctor.check.Subject.SPARK_JAR;
import static io.sluice.doctor.check.Subject.SPARK_SETTINGS;
import static io.sluice.doctor.check.Subject.SPARK_TRANSFER;
import static io.sluice.doctor.check.Subject.SPARK_VERSION;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.check.Verdict;
import io.sluice.doctor.host.Host;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A Spark installation: its version, whether it has Sluice, and settings that keep Sluice from working. */
public final class SparkCheck implements Check {
  private static final String CLASS_PATH = "spark.executor.extraClassPath";

  private final String home;
  private final String jar;

  /**
   * @param home of the installation, or empty
   * @param jar the jar that this program runs from, for the lines to add
   */
  public SparkCheck(String home, String jar) {
    this.home = home;
    this.jar = jar;
  }

  @Override
  public Subject subject() {
    return SPARK_VERSION;
  }

  @Override
  public List<Finding> look(Host host) {
    if (home.isEmpty()) {
      return List.of(Finding.note(SPARK_VERSION, "not looked at: neither --spark-home nor SPARK_HOME is given"));
    }
    SparkHome spark = new SparkHome(home);
    Optional<SparkHome.Version> version = spark.version(host);
    if (version.isEmpty()) {
      return List.of(Finding.problem(SPARK_VERSION, "no jars/spark-core_*.jar in " + home,
          "Give --spark-home the folder that has Spark's bin, conf and jars"));
    }
    Map<String, String> settings = spark.defaults(host);
    List<Finding> findings = new ArrayList<>(List.of(version(home, version.get()), jar(host, home, settings)));
    findings.addAll(settings(host, spark, settings));
    return findings;
  }

  private static Finding version(String folder, SparkHome.Version version) {
    String text = "Spark " + version + ", Scala " + version.scala() + ", in " + folder;
    if (!version.atLeast(3, 3)) {
      return Finding.problem(SPARK_VERSION, text + ": Sluice needs 3.3 or later", "Use Spark 3.3 to 4.2");
    }
    return version.atLeast(4, 3)
        ? Finding.warning(SPARK_VERSION, text + ": later than 4.2, not tried with this Sluice",
            "Look for a newer Sluice, or try this one on a small job first")
        : Finding.ok(SPARK_VERSION, text);
  }

  private Finding jar(Host host, String folder, Map<String, String> settings) {
    List<String> named = Arrays.stream(settings.getOrDefault(CLASS_PATH, "").split(":"))
        .filter(SparkCheck::isSluice).toList();
    Optional<String> installed = host.list(folder + "/jars").stream().filter(SparkCheck::isSluice).findFirst();
    Optional<String> absent = named.stream().filter(path -> !host.exists(path)).findFirst();
    if (absent.isPresent()) {
      return Finding.problem(SPARK_JAR, CLASS_PATH + " names " + absent.get() + ", which is not on this machine",
          "Copy the jar to " + absent.get());
    }
    if (installed.isPresent() || !named.isEmpty()) {
      return Finding.ok(SPARK_JAR, installed.map(name -> folder + "/jars/" + name).orElseGet(() -> named.get(0)));
    }
    return new Finding(SPARK_JAR, Verdict.NOTE, "not in jars/, not in " + CLASS_PATH + ": each command must add it",
        "spark.driver.extraClassPath and " + CLASS_PATH + "  " + jar);
  }

  private static boolean isSluice(String path) {
    return path.substring(path.lastIndexOf('/') + 1).matches("sluice-\\d.*\\.jar");
  }

  private static List<Finding> settings(Host host, SparkHome spark, Map<String, String> settings) {
    String file = spark.defaultsFile(host);
    List<Finding> findings = new ArrayList<>(SettingRule.findings(settings));
    if (!host.exists(file)) {
      return List.of(new Finding(SPARK_SETTINGS, Verdict.NOTE, "there is no " + file + ": each command must set them",
          "--conf spark.shuffle.manager=" + SettingRule.MANAGER + " --conf spark.plugins=" + SettingRule.PLUGIN));
    }
    if (!settings.containsKey("spark.shuffle.manager")) {
      findings.add(new Finding(SPARK_SETTINGS, Verdict.NOTE,
          file + " does not set spark.shuffle.manager: each command must set it",
          "spark.shuffle.manager  " + SettingRule.MANAGER));
    } else if (!settings.getOrDefault("spark.plugins", "").contains(SettingRule.PLUGIN)) {
      String line = "spark.plugins  " + SettingRule.PLUGIN;
      findings.add(new Finding(SPARK_SETTINGS, Verdict.NOTE, "spark.plugins has not Sluice's: no metrics of it", line));
      findings.add(
          Finding.problem(SPARK_TRANSFER, "spark.plugins has not Sluice's: executors do not find each other", line));
    }
    inOrder(findings, SPARK_SETTINGS, file + " uses Sluice");
    inOrder(findings, SPARK_FRAMES, "nothing in " + file + " keeps shuffles from them");
    inOrder(findings, SPARK_TRANSFER, "nothing in " + file + " keeps blocks from them");
    return findings;
  }

  private static void inOrder(List<Finding> findings, Subject subject, String text) {
    if (findings.stream().noneMatch(finding -> finding.subject() == subject)) {
      findings.add(Finding.ok(subject, text));
    }
  }
}
