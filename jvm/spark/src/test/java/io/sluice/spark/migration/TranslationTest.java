package io.sluice.spark.migration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import io.sluice.spark.migration.Mapping.Fate;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TranslationTest {
  private static final String RAPIDS = "spark.shuffle.manager com.nvidia.spark.rapids.spark350.RapidsShuffleManager\n";
  private static final String SPARK_RDMA = "spark.shuffle.manager=org.apache.spark.shuffle.rdma.RdmaShuffleManager\n";
  private static final String SPARK_UCX =
      "spark.shuffle.manager: org.apache.spark.shuffle.compat.spark_3_0.UcxShuffleManager\n";

  private static Translation translate(String text) {
    return Translation.of(text.getBytes(StandardCharsets.UTF_8));
  }

  private static Properties translated(String text) throws IOException {
    return SettingsFileTest.byJava(translate(text).text());
  }

  @Test
  void theRapidsGuidesRecommendedSettings() throws IOException {
    Properties settings = translated(RAPIDS + """
        spark.plugins com.nvidia.spark.SQLPlugin
        spark.rapids.shuffle.mode=UCX
        spark.rapids.sql.enabled true
        spark.shuffle.service.enabled=false
        spark.executorEnv.UCX_ERROR_SIGNALS=
        spark.executorEnv.UCX_MEMTYPE_CACHE=n
        spark.executorEnv.UCX_TLS=cuda_copy,cuda_ipc,rc,tcp
        spark.executorEnv.UCX_TCP_KEEPINTVL=inf
        spark.rapids.shuffle.ucx.bounceBuffers.size=8m
        spark.rapids.memory.host.spillStorageSize 4g
        """);
    Properties expected = new Properties();
    expected.setProperty("spark.shuffle.manager", "io.sluice.spark.SluiceShuffleManager");
    expected.setProperty("spark.plugins", "com.nvidia.spark.SQLPlugin,io.sluice.spark.SluicePlugin");
    expected.setProperty("spark.sluice.mode", "UCX");
    expected.setProperty("spark.rapids.sql.enabled", "true");
    expected.setProperty("spark.shuffle.service.enabled", "false");
    expected.setProperty("spark.executorEnv.UCX_TLS", "sm,rc,tcp");
    expected.setProperty("spark.executorEnv.UCX_TCP_KEEPINTVL", "inf");
    expected.setProperty("spark.rapids.memory.host.spillStorageSize", "4g");
    assertEquals(expected, settings);
  }

  @ParameterizedTest
  @ValueSource(strings = {SPARK_RDMA, SPARK_UCX})
  void managersThatMovedSparksFilesBecomeModeRdma(String manager) throws IOException {
    Properties settings = translated(manager);
    assertEquals("io.sluice.spark.SluiceShuffleManager", settings.getProperty("spark.shuffle.manager"));
    assertEquals("io.sluice.spark.SluicePlugin", settings.getProperty("spark.plugins"));
    assertEquals("RDMA", settings.getProperty("spark.sluice.mode"));
    assertEquals("UCX", translated(manager + "spark.sluice.mode UCX").getProperty("spark.sluice.mode"));
  }

  @Test
  void whatIsWrittenSaysWhereItComesFrom() {
    assertEquals(
        """
        # mine
        # Sluice: changed.
        # spark.shuffle.manager=org.apache.spark.shuffle.rdma.RdmaShuffleManager
        spark.shuffle.manager  io.sluice.spark.SluiceShuffleManager
        spark.plugins  io.sluice.spark.SluicePlugin
        spark.sluice.mode  RDMA
        # Sluice: not needed. REASON
        #   spark.shuffle.rdma.swFlowControl \\
        #        true
        spark.executor.memory 8g""".replace("REASON",
            MigrationTable.of("spark.shuffle.rdma.swFlowControl").get().why()),
        translate("# mine\n" + SPARK_RDMA
            + "  spark.shuffle.rdma.swFlowControl \\\n       true\nspark.executor.memory 8g").text());
  }

  @ParameterizedTest
  @CsvSource(delimiter = ' ', value = {
    "spark.rapids.shuffle.enabled false spark.sluice.enabled false",
    "spark.rapids.shuffle.transport.enabled true spark.sluice.mode UCX",
    "spark.rapids.shuffle.transport.enabled FALSE spark.sluice.mode MULTITHREADED",
    "spark.rapids.shuffle.multiThreaded.writer.threads 0 spark.sluice.writer.threads 0",
    "spark.rapids.shuffle.multiThreaded.writer.threads 1 spark.sluice.writer.threads 0",
    "spark.rapids.shuffle.multiThreaded.reader.threads 20 spark.sluice.reader.threads 20",
    "spark.rapids.shuffle.multiThreaded.maxBytesInFlight 256m spark.sluice.reader.maxBytesInFlight 256m",
    "spark.shuffle.rdma.maxBytesInFlight 100663296 spark.reducer.maxSizeInFlight 96m",
    "spark.shuffle.rdma.maxBytesInFlight 48m spark.reducer.maxSizeInFlight 48m",
    "spark.shuffle.rdma.maxBytesInFlight 128k spark.reducer.maxSizeInFlight 1m",
    "spark.shuffle.rdma.shuffleWriteMaxInMemoryStoragePerExecutor 25g spark.sluice.cache.hostLimit 25g",
    "spark.executorEnv.UCX_TLS ^cuda_ipc,posix spark.executorEnv.UCX_TLS ^posix",
    "spark.executorEnv.UCX_TLS rc,tcp,sm,self spark.executorEnv.UCX_TLS rc,tcp,sm,self",
    "spark.executorEnv.UCX_TLS cuda_copy,sm,cuda_ipc,rc spark.executorEnv.UCX_TLS sm,rc",
  })
  void valuesAreConverted(String key, String value, String target, String expected) throws IOException {
    Properties settings = translated(key + " " + value);
    assertEquals(expected, settings.getProperty(target));
    assertEquals(1, settings.size());
  }

  @Test
  void aListOfTransportsForGpusOnlyIsLeftOut() throws IOException {
    assertEquals(new Properties(), translated("spark.executorEnv.UCX_TLS cuda_copy"));
  }

  @Test
  void ofSparksOwnSettingsOnlySparkUcxsClassIsTaken() throws IOException {
    String key = "spark.shuffle.sort.io.plugin.class ";
    assertEquals(new Properties(),
        translated(key + "org.apache.spark.shuffle.compat.spark_3_0.UcxLocalDiskShuffleDataIO"));
    assertEquals(1, translated(key + "org.example.OwnShuffleDataIO").size());
  }

  @Test
  void settingsOfAManagerThatWasNotUsedHadNoEffect() throws IOException {
    Properties settings =
        translated(SPARK_RDMA + "spark.rapids.shuffle.mode UCX\nspark.shuffle.rdma.maxBytesInFlight 64m");
    assertEquals("RDMA", settings.getProperty("spark.sluice.mode"));
    assertEquals("64m", settings.getProperty("spark.reducer.maxSizeInFlight"));
    assertEquals(4, settings.size());
  }

  @Test
  void unknownSettingsOfAPredecessorStayAndAreNamed() throws IOException {
    Translation translation = translate("""
        spark.rapids.shuffle.novel 1

        spark.shuffle.rdma.chunk.size 2
        spark.rapids.sql.enabled true
        spark.executorEnv.UCX_LOG_LEVEL info
        """);
    assertEquals(4, SettingsFileTest.byJava(translation.text()).size());
    String report = translation.report().text();
    assertTrue(report.startsWith("settings: 0 translated, 0 commented out, 4 left alone, 2 of these unknown"), report);
    assertTrue(report.contains("unknown: line 1: spark.rapids.shuffle.novel\n"), report);
    assertTrue(report.contains("unknown: line 3: spark.shuffle.rdma.chunk.size\n"), report);
  }

  @Test
  void jarsOfThePredecessorAreNamed() {
    String report =
        translate(SPARK_RDMA + "spark.executor.extraClassPath /opt/a.jar:/opt/spark-rdma-3.1-for-spark-2.4.0"
            + "-jar-with-dependencies.jar\nspark.shuffle.compress false\n").report().text();
    assertTrue(report.contains("note: line 2: spark.executor.extraClassPath names spark-rdma-3.1-for-spark-2.4.0"
        + "-jar-with-dependencies.jar. Put Sluice's jar in its place\n"), report);
    assertTrue(report.contains("note: line 3: spark.shuffle.compress=false"), report);
  }

  @Test
  void valuesOutsideOfTheRangeAreRefused() {
    assertRefused("spark.rapids.shuffle.multiThreaded.writer.threads 300", "line 1: ", "from 0 to 256");
    assertRefused("spark.rapids.shuffle.multiThreaded.writer.threads many", "line 1: ",
        "cannot become spark.sluice.writer.threads");
    assertRefused("spark.rapids.shuffle.multiThreaded.maxBytesInFlight 1", "line 1: ", "from 1m to 64g");
    assertRefused("spark.rapids.shuffle.mode FAST", "line 1: ", "one of MULTITHREADED");
    assertRefused("spark.shuffle.rdma.maxBytesInFlight lots", "line 1: ",
        "cannot become spark.reducer.maxSizeInFlight");
    assertRefused("a 1\nspark.sluice.noSuch 1", "line 2: ", "unknown setting spark.sluice.noSuch");
    assertRefused("a 1\nspark.sluice.writer.threads -1", "line 2: ", "from 0 to 256");
  }

  @Test
  void contradictionsAreRefused() {
    assertRefused("#\nspark.rapids.shuffle.mode UCX\nspark.rapids.shuffle.mode UCX", "line 3: ", "line 2 already");
    assertRefused("spark.shuffle.manager a\nspark.shuffle.manager b", "line 2: ", "line 1 already");
    assertRefused("spark.rapids.shuffle.mode UCX\nspark.sluice.mode RDMA", "line 1: ", "line 2 says RDMA");
    assertRefused("spark.rapids.shuffle.mode UCX\nspark.rapids.shuffle.transport.enabled false", "line 2: ",
        "line 1 says UCX");
    assertRefused("spark.sluice.store cache\nspark.sluice.codec spark", "spark.sluice.store",
        "needs spark.sluice.codec");
  }

  private static void assertRefused(String text, String place, String why) {
    String message = assertThrows(SluiceException.class, () -> translate(text)).getMessage();
    assertTrue(message.startsWith(place) && message.contains(why), message);
  }

  @Test
  void equalSettingsAreNoContradiction() throws IOException {
    Properties settings = translated("""
        spark.sluice.reader.maxBytesInFlight 1g
        spark.rapids.shuffle.multiThreaded.maxBytesInFlight 1024m
        spark.rapids.shuffle.mode UCX
        spark.rapids.shuffle.transport.enabled true
        """);
    assertEquals(2, settings.size());
    assertEquals("1g", settings.getProperty("spark.sluice.reader.maxBytesInFlight"));
  }

  @Test
  void settingsOfOthersThatAreSetTwiceStay() {
    String text = "spark.executor.memory 1g\nspark.executor.memory 2g\n";
    Translation translation = translate(text);
    assertEquals(text, translation.text());
    assertTrue(translation.report().text().contains("note: line 2: spark.executor.memory is set in line 1"));
  }

  @Test
  void everySettingOfTheTableIsHandled() {
    for (Mapping mapping : MigrationTable.all()) {
      if (mapping.project() == Project.ENVIRONMENT || mapping.fate() == Fate.TRANSLATED) {
        continue;
      }
      String line = mapping.key() + " Ucx";
      boolean stays = mapping.fate() == Fate.STAYS;
      assertEquals(stays ? line : "# Sluice: " + mapping.fate().words() + ". " + mapping.why() + "\n# " + line,
          translate(line).text());
    }
  }

  @Test
  void otherLinesStayInRandomFiles() throws IOException {
    Random random = new Random(7);
    for (int i = 0; i < 300; i++) {
      String text = randomFile(random);
      String result = translate(text).text();
      checkOthersStay(text, result);
      assertEquals(result, translate(result).text(), "a translation of a translation changes nothing");
    }
  }

  private static final List<String> LINES = List.of("# comment \\", "! other = comment", "", "   ", "\\",
      "spark.executor.memory 8g", "  spark.a\\ b  : é漢", "spark.app.name   two\\\n   lines", "spark.c=\\u0041\\tx  ",
      "other.key value", "spark.empty", "spark.rapids.sql.enabled=true",
      "spark.rapids.shuffle.kudo.serializer.enabled x",
      "spark.rapids.shuffle.transport.earlyStart: \\\n  true", "spark.rapids.shuffle.mode UCX",
      "spark.rapids.shuffle.multiThreaded.reader.threads 4", "spark.shuffle.rdma.cpuList 0-15",
      "spark.shuffle.ucx.memory.useOdp true", "spark.executorEnv.UCX_TLS=rc,cuda_copy", "spark.shuffle.rdma.unheard 1",
      "spark.shuffle.rdma.maxBytesInFlight 64m", RAPIDS.trim(), "spark.plugins=org.example.A , org.example.B");

  private static String randomFile(Random random) {
    List<String> lines = new ArrayList<>(LINES);
    Collections.shuffle(lines, random);
    String end = List.of("\n", "\r\n", "\r").get(random.nextInt(3));
    String text = lines.subList(0, random.nextInt(lines.size())).stream().collect(Collectors.joining("\n"));
    // Behind a backslash that would continue the last line.
    return (text + "\nspark.last 1" + (random.nextBoolean() ? "\n" : "")).replace("\n", end);
  }

  private static void checkOthersStay(String text, String result) throws IOException {
    Properties before = SettingsFileTest.byJava(text);
    Properties after = SettingsFileTest.byJava(result);
    for (String key : before.stringPropertyNames()) {
      boolean taken = MigrationTable.of(key).filter(mapping -> mapping.fate() != Fate.STAYS).isPresent()
          || key.equals(Translation.MANAGER_KEY) || key.equals(Translation.PLUGINS_KEY);
      if (!taken) {
        assertEquals(before.getProperty(key), after.getProperty(key), key);
      }
    }
    int at = 0;
    for (String line : text.split("(?<=\n)|(?<=\r)(?!\n)")) {
      int found = result.indexOf(line, at);
      assertFalse(found < 0, "\"" + line + "\" is missing in\n" + result);
      at = found + line.length();
    }
  }
}
