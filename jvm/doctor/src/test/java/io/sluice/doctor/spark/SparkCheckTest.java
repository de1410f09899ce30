package io.sluice.doctor.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.check.Verdict;
import io.sluice.doctor.host.FakeHost;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A Spark home made of files. */
class SparkCheckTest {
  private static final String HOME = "/opt/spark";
  private static final String CONF = HOME + "/conf/spark-defaults.conf";
  private static final String GOOD = "spark.shuffle.manager io.sluice.spark.SluiceShuffleManager\n"
      + "spark.plugins=io.sluice.spark.SluicePlugin\nspark.executor.extraClassPath /opt/sluice-0.1.0.jar\n";

  @TempDir private Path root;
  private FakeHost host;

  @BeforeEach
  void makeHost() {
    host = FakeHost.ordinary(root).with(HOME + "/jars/spark-core_2.12-3.5.8.jar", "").with("/opt/sluice-0.1.0.jar", "");
  }

  @Test
  void withoutASparkHomeNothingIsChecked() {
    List<Finding> findings = new SparkCheck("", "/x.jar").look(host);
    assertEquals(List.of(Verdict.NOTE), findings.stream().map(Finding::verdict).toList());
  }

  @Test
  void localDirectoriesAreThoseThatSparkUses() {
    assertEquals(List.of("/tmp"), SparkLocalDirs.of(host, ""));
    host.with(CONF, "spark.local.dir /a,/b\n");
    assertEquals(List.of("/a", "/b"), SparkLocalDirs.of(host, HOME));
    assertEquals(List.of("/c", "/d"), SparkLocalDirs.of(host.environment("SPARK_LOCAL_DIRS", "/c, /d"), HOME));
  }

  @Test
  void sluicesMemoryIsThatOfTheSettings() {
    long mib = 1L << 20;
    assertEquals(0, SluiceMemory.ofExecutor(host, "", Map.of()));
    assertEquals(0, SluiceMemory.ofExecutor(host, HOME, Map.of()));
    host.with(CONF, "spark.sluice.mode UCX\nspark.sluice.memory.limit auto\n");
    assertEquals(1024 * mib, SluiceMemory.ofExecutor(host, HOME, Map.of()));
    host.with(CONF, "spark.sluice.store cache\nspark.sluice.cache.hostLimit 300M\nspark.sluice.memory.limit 2gb\n");
    assertEquals(2348 * mib, SluiceMemory.ofExecutor(host, HOME, Map.of()));
    assertEquals(2348 * mib, SluiceMemory.ofExecutor(host, HOME, Map.of("spark.executor.memory", "8g")));
    assertEquals(2298 * mib, SluiceMemory.ofExecutor(host, HOME, Map.of("spark.sluice.cache.hostLimit", "250m")));
    assertEquals(1024 * mib, SluiceMemory.ofExecutor(host, "", Map.of("spark.sluice.mode", "UCX")), "as in a pod");
    host.with(CONF, "spark.sluice.mode CACHE_ONLY\nspark.sluice.store files\nspark.sluice.cache.hostLimit 300m\n");
    assertEquals(0, SluiceMemory.ofExecutor(host, HOME, Map.of()));
  }

  @Test
  void completeInstallationIsFine() {
    host.with(CONF, GOOD);
    look().forEach(finding -> assertEquals(Verdict.OK, finding.verdict(), finding::toString));
    assertEquals("Spark 3.5.8, Scala 2.12, in /opt/spark", look().get(0).text());
  }

  @Test
  void missingSettingsAreSpelledOut() {
    Finding jar = about(Subject.SPARK_JAR);
    assertEquals("spark.driver.extraClassPath and spark.executor.extraClassPath  /x.jar", jar.next());
    assertTrue(about(Subject.SPARK_SETTINGS).next().startsWith("--conf spark.shuffle.manager=io.sluice.spark."));
    host.with(CONF, "spark.eventLog.enabled true\n");
    assertEquals("spark.shuffle.manager  io.sluice.spark.SluiceShuffleManager", about(Subject.SPARK_SETTINGS).next());
  }

  @Test
  void jarThatIsNotOnThisMachineIsAProblem() {
    host.with(CONF, GOOD).without("/opt/sluice-0.1.0.jar");
    assertEquals(Verdict.PROBLEM, about(Subject.SPARK_JAR).verdict());
  }

  @Test
  void supportedLinesAreKnown() {
    Map<String, Verdict> lines = Map.of("spark-core_2.12-3.2.4.jar", Verdict.PROBLEM, "spark-core_2.13-4.2.0.jar",
        Verdict.OK, "spark-core_2.13-4.3.0-SNAPSHOT.jar", Verdict.WARNING, "spark-core_2.13-5.0.0.jar", Verdict.WARNING,
        "spark-core_2.12-3.3.4-amzn-0.jar", Verdict.OK);
    host.without(HOME + "/jars/spark-core_2.12-3.5.8.jar");
    lines.forEach((name, verdict) -> {
      host.with(HOME + "/jars/" + name, "");
      assertEquals(verdict, look().get(0).verdict(), name);
      host.without(HOME + "/jars/" + name);
    });
    assertEquals(Verdict.PROBLEM, look().get(0).verdict());
  }

  @Test
  void conflictingSettingsAreNamedWithTheirConsequence() {
    Map<String, Finding> lines = Map.of(
        "spark.shuffle.manager sort", Finding.warning(Subject.SPARK_SETTINGS, "", ""),
        "spark.shuffle.service.enabled true", Finding.note(Subject.SPARK_SETTINGS, ""),
        "spark.shuffle.push.enabled true", Finding.problem(Subject.SPARK_TRANSFER, "", ""),
        "spark.io.compression.codec lzf", Finding.problem(Subject.SPARK_FRAMES, "", ""),
        "spark.ssl.rpc.enabled true", Finding.problem(Subject.SPARK_TRANSFER, "", ""));
    lines.forEach((line, expected) -> {
      host.with(CONF, GOOD + line + "\n");
      Finding finding = about(expected.subject());
      assertEquals(expected.verdict(), finding.verdict(), line);
      assertTrue(finding.text().startsWith(line.replace(' ', '=') + ": "), finding.text());
    });
  }

  @Test
  void settingsThatChangeNothingAreNotMentioned() {
    host.with(CONF,
        GOOD + "spark.io.encryption.enabled true\nspark.io.compression.codec zstd\nspark.sluice.mode UCX\n");
    look().forEach(finding -> assertEquals(Verdict.OK, finding.verdict(), finding::toString));
  }

  @Test
  void ioEncryptionAllowsOneSidedReads() {
    host.with(CONF, GOOD + "spark.network.crypto.enabled true\n");
    assertEquals(Verdict.PROBLEM, about(Subject.SPARK_TRANSFER).verdict());
    host.with(CONF, GOOD + "spark.network.crypto.enabled true\nspark.io.encryption.enabled true\n");
    assertEquals(Verdict.OK, about(Subject.SPARK_TRANSFER).verdict());
  }

  /** Spark's encryption of files authenticates nothing. */
  @Test
  void ioEncryptionAllowsNoOneSidedReadsOfSparksFormat() {
    String encrypted = GOOD + "spark.network.crypto.enabled true\nspark.io.encryption.enabled true\n";
    host.with(CONF, encrypted + "spark.sluice.mode RDMA\n");
    assertEquals(Verdict.PROBLEM, about(Subject.SPARK_TRANSFER).verdict());
    host.with(CONF, encrypted + "spark.sluice.mode RDMA\nspark.sluice.codec sluice\n");
    assertEquals(Verdict.OK, about(Subject.SPARK_TRANSFER).verdict());
  }

  @Test
  void authenticationNeedsAnAcknowledgementOrNoTcp() {
    host.with(CONF, GOOD + "spark.authenticate true\n");
    assertEquals(Verdict.PROBLEM, about(Subject.SPARK_TRANSFER).verdict());
    host.with(CONF, GOOD + "spark.authenticate true\nspark.executorEnv.UCX_TLS rc,tcp\n");
    assertEquals(Verdict.PROBLEM, about(Subject.SPARK_TRANSFER).verdict());
    for (String line : List.of("spark.sluice.ucx.allowUnauthenticatedTcp true", "spark.executorEnv.UCX_TLS rc,self",
        "spark.executorEnv.UCX_TLS ^tcp")) {
      host.with(CONF, GOOD + "spark.authenticate true\n" + line + "\n");
      assertEquals(Verdict.OK, about(Subject.SPARK_TRANSFER).verdict(), line);
    }
  }

  @Test
  void oneSidedReadsNeedThePlugin() {
    host.with(CONF, GOOD.replace("spark.plugins", "spark.other"));
    assertEquals(Verdict.NOTE, about(Subject.SPARK_SETTINGS).verdict());
    assertEquals(Verdict.PROBLEM, about(Subject.SPARK_TRANSFER).verdict());
  }

  @Test
  void otherConfFolderIsRead() {
    host.with("/etc/spark/spark-defaults.conf", GOOD).environment("SPARK_CONF_DIR", "/etc/spark");
    assertTrue(about(Subject.SPARK_SETTINGS).text().startsWith("/etc/spark/spark-defaults.conf"));
    assertFalse(about(Subject.SPARK_JAR).text().contains("not in jars"));
  }

  private List<Finding> look() {
    return new SparkCheck(HOME, "/x.jar").look(host);
  }

  private Finding about(Subject subject) {
    return look().stream().filter(finding -> finding.subject() == subject).findFirst().orElseThrow();
  }
}
