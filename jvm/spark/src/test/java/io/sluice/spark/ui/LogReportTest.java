package io.sluice.spark.ui;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The report of an application's event log. */
class LogReportTest {
  private static final String NAME = "<script>alert(1)</script>";

  @TempDir private Path folder;

  private List<String> log() throws IOException {
    try (LocalSpark spark = LocalSpark.start(Map.of("spark.app.name", NAME, "spark.eventLog.enabled", "true",
        "spark.eventLog.dir", folder.toUri().toString(), "spark.eventLog.compress", "false",
        "spark.eventLog.rolling.enabled", "false"))) {
      assertEquals(1000, spark.session().range(1000).repartition(5, col("id")).collectAsList().size());
    }
    try (Stream<Path> files = Files.list(folder)) {
      return Files.readAllLines(files.filter(file -> !file.getFileName().toString().startsWith(".")).findFirst()
          .orElseThrow());
    }
  }

  private static LogReport report(List<String> lines) {
    LogReport report = new LogReport();
    lines.stream().filter(line -> LogReport.wants(line.substring(0, Math.min(128, line.length()))))
        .forEach(report::take);
    return report;
  }

  @Test
  void whatTheTabShowsIsOnOnePageWithoutLinks() throws Exception {
    List<String> log = log();
    LogReport report = report(log);
    assertTrue(report.hasSluice());
    assertEquals(NAME, report.application());
    String html = report.html("/logs/app", "");
    PagesTest.assertIsWellFormed(html);
    assertTrue(html.contains("Rows written</th><td>1,000"), html);
    assertTrue(html.contains("Stage 0.0 writes it</h5>") && html.contains("reads it</h5>"), html);
    assertTrue(html.contains("How its columns are encoded"), html);
    assertTrue(html.contains("Nothing stands out"), html);
    assertFalse(html.contains("href=") || html.contains("<form") || html.contains("<script"), html);
    assertTrue(report.html("/logs/app", "it is cut <b>").contains("it is cut &lt;b&gt;"));
  }

  @Test
  void anApplicationWithoutSluiceIsSaidSo() throws Exception {
    LogReport report = report(log().stream().filter(line -> !line.contains("io.sluice")).toList());
    assertFalse(report.hasSluice());
    assertTrue(report.html("/logs/app", "").contains("The log has nothing of Sluice"));
  }

  @Test
  void linesThatAreNoEventsThrow() {
    LogReport report = new LogReport();
    for (String line : List.of("", "x", "{\"Event\":\"io.sluice.spark.events.OfLater\"}",
        "{\"Event\":\"SparkListenerTaskEnd\"}",
        "{\"Event\":\"io.sluice.spark.events.StageSummary\",\"figures\":7}")) {
      assertThrows(RuntimeException.class, () -> report.take(line), line);
    }
    assertFalse(report.hasSluice());
  }

  @Test
  void onlyWhatIsNeededIsRead() {
    assertTrue(LogReport.wants("{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":0"));
    assertTrue(LogReport.wants("{\"Event\":\"io.sluice.spark.events.StageSummary\""));
    assertFalse(LogReport.wants("{\"Event\":\"SparkListenerTaskStart\""));
    assertFalse(LogReport.wants("{\"Event\":\"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart\""));
    assertFalse(LogReport.wants(""));
  }
}
