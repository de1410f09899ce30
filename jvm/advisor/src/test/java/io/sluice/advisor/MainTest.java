package io.sluice.advisor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command line, from files to reports and exit codes. */
class MainTest {
  private static final String HOSTILE = "<script>alert(1)</script>\" onload='x' \u001b[2J \u202e";

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @TempDir private Path folder;

  @Test
  void terminalGetsATableThatFits() throws IOException {
    Path log = TestLog.ofSort("my application with a name that is rather long for a column of a table, and more")
        .write(folder.resolve("log"));
    assertEquals(0, run(log.toString()), this::err);
    String text = out();
    assertTrue(text.contains("times as fast") && text.contains("Worth trying") && text.contains("sorting"), text);
    assertTrue(text.contains("spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager"), text);
    text.lines().forEach(line -> assertTrue(line.length() <= 120, line));
  }

  @Test
  void severalLogsGetAnOverview() throws IOException {
    TestLog.ofSort("first").write(folder.resolve("app-1"));
    TestLog.ofSort("second").write(folder.resolve("app-2.inprogress"));
    Files.writeString(folder.resolve("README"), "no log\n");
    assertEquals(0, run(folder.toString()), this::err);
    assertTrue(out().contains("first (app-1)") && out().contains("second (app-1)"), this::out);
    assertTrue(err().contains("note: skipped") && err().contains("README"), this::err);
  }

  @Test
  void hostileTextDoesNothingAnywhere() throws IOException {
    Path html = folder.resolve("page.html");
    Path json = folder.resolve("advice.json");
    TestLog log = TestLog.ofSort(HOSTILE);
    log.add(log.text().lines().filter(line -> line.contains("StageCompleted")).findFirst().orElseThrow()
        .replace("\"Stage Name\":\"map\"", "\"Stage Name\":" + TestLog.quoted(HOSTILE)));
    assertEquals(0, run("--html", html.toString(), "--json=" + json, log.write(folder.resolve("log")).toString()),
        this::err);
    assertFalse((out() + err()).chars().anyMatch(c -> c == 0x1b || c == 0x202e || c == 0x7f), this::out);
    String page = Files.readString(html);
    assertFalse(page.contains("<script") || page.contains("onload='") || page.contains("\u001b"), page);
    assertTrue(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39;"), page);
    assertFalse(page.contains("http:") || page.contains("https:") || page.contains("url("), page);
    try (JsonParser parser = new JsonFactory().createParser(Files.readAllBytes(json))) {
      while (parser.nextToken() != null) {
        assertFalse(parser.getText().chars().anyMatch(c -> c == 0x1b || c == 0x202e), () -> "" + json);
      }
    }
  }

  @Test
  void jsonHasEveryStageAndShuffle() throws IOException {
    Path json = folder.resolve("advice.json");
    assertEquals(0, run(TestLog.ofSort("x").write(folder.resolve("log")).toString(), "--json", json.toString()));
    String text = Files.readString(json);
    for (String part : List.of("\"times_as_fast\" : 1.", "\"moves\" : \"sql_rows\"", "\"partitioning\" : \"hash\"",
        "\"read_by_stages\" : [ 1 ]",
        "\"saved_reading_s_by_stage\" : {\n        \"1\" : 18.588", "\"saved_writing_s\" : 1.31",
        "\"writing: 5,000,000 rows written at 95 ns = 0.47 s\"", "\"confidence\" : \"high\"", "\"events\" : 86",
        "\"sort_s\" : 20.0")) {
      assertTrue(text.contains(part), part + " is not in " + text);
    }
  }

  @Test
  void wrongArgumentsExitWithTwo() {
    assertEquals(2, run());
    assertTrue(err().contains("no event log is named"), this::err);
    assertEquals(2, run("--colour", "x"));
    assertEquals(2, run("log", "--json"));
    assertEquals(2, run("hdfs://host/logs"));
    assertTrue(err().contains("copy it here first"), this::err);
    assertEquals("", out());
    assertEquals(0, run("--help"));
    out().lines().forEach(line -> assertTrue(line.length() <= 100, line));
  }

  @Test
  void unreadableLogsAreSaidAndTheOthersReported() throws IOException {
    Path good = TestLog.ofSort("good").write(folder.resolve("good"));
    Path empty = Files.createFile(folder.resolve("empty"));
    assertEquals(1, run(empty.toString(), folder.resolve("missing").toString(), good.toString()));
    assertTrue(err().contains("the file is empty") && err().contains("there is no such file"), this::err);
    assertTrue(out().contains("good (app-1)"), this::out);
    assertEquals(1, run(good.toString(), "--html", folder.resolve("none/page.html").toString()));
    assertTrue(err().contains("cannot be written"), this::err);
  }

  @Test
  void predictionsAreComparedWithMeasurements() throws IOException {
    TestLog log = new TestLog().head("4.2.0", "sluice-bench-stock").executor("1", 2);
    for (int run = 0; run < 3; run++) {
      long start = TestLog.START_MS + run * 100_000;
      log.job(run, "sluice-bench/sort-rdd/" + (run + 1), -1, start);
      log.task(run, start, 10_000, 10_000, Map.of("Local Bytes Read", 1L, "Total Records Read", 20_000_000L));
      log.stageCompleted(run, "reduce", 1, start, start + 10_000, "[]", 9,
          TestLog.rdd(8, "ShuffledRDD", "sortByKey", "[3]", 4), "").jobEnd(run, start + 10_000);
    }
    Path measured = Files.writeString(folder.resolve("measured.json"),
        "[{\"workload\":\"sort-rdd\",\"engine\":\"stock\",\"runs_s\":[10.0,10.2]},"
            + "{\"workload\":\"sort-rdd\",\"engine\":\"sluice\",\"runs_s\":[2.0,2.1]},"
            + "{\"workload\":\"other\",\"engine\":\"stock\",\"runs_s\":[1.0]},"
            + "{\"workload\":\"other\",\"engine\":\"sluice\",\"runs_s\":[1.0]}]");
    assertEquals(0, run("--measured", measured.toString(), log.write(folder.resolve("log")).toString()), this::err);
    assertTrue(out().matches("(?s).*sort-rdd +2 +6\\.67 +4\\.93 +\\+35 %.*Median error: 35\\.\\d %.*"), this::out);
    assertTrue(out().contains("Not enough runs in the logs: other."), this::out);
  }

  @Test
  void measurementsThatCannotBeUsedAreRefused() throws IOException {
    String log = TestLog.ofSort("x").write(folder.resolve("log")).toString();
    for (String text : List.of("", "[]", "{}", "[{\"workload\":\"a\",\"engine\":\"stock\",\"runs_s\":[1]}]", "[{")) {
      assertEquals(1, run("--measured", Files.writeString(folder.resolve("measured.json"), text).toString(), log),
          text);
    }
    assertEquals(1, run("--measured", folder.resolve("missing").toString(), log));
    assertEquals("", out());
  }

  /** 200 MB of tasks in a heap of 32 MB; the log is a stream of lines that no memory holds. */
  @Test
  void largeLogIsReadInLittleMemory() throws Exception {
    Path log = folder.resolve("large");
    byte[] head = new TestLog().head("4.2.0", "large").executor("1", 2).bytes();
    byte[] task = new TestLog().task(0, TestLog.START_MS, 1_000, 900, Map.of("Total Records Read", 10L)).bytes();
    try (OutputStream lines = new BufferedOutputStream(Files.newOutputStream(log))) {
      lines.write(head);
      for (long written = 0; written < 200_000_000; written += task.length) {
        lines.write(task);
      }
    }
    String output = runWithHeap("32m", 0, log.toString());
    assertTrue(output.contains("large (app-1)"), output);
  }

  @Test
  void heapThatIsTooSmallIsSaidPlainly() throws Exception {
    Path log = folder.resolve("many-stages");
    try (OutputStream lines = new BufferedOutputStream(Files.newOutputStream(log))) {
      lines.write(new TestLog().head("4.2.0", "many").bytes());
      for (int stage = 0; stage < 60_000; stage++) {
        lines.write(("{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":" + stage + "}\n").getBytes());
      }
    }
    Path good = TestLog.ofSort("good").write(folder.resolve("good"));
    String output = runWithHeap("16m", 1, log.toString(), good.toString());
    assertTrue(output.contains("many-stages: Java's heap of 1") && output.contains("java -Xmx4g -jar JAR advise"),
        output);
    assertTrue(output.contains("good (app-1)"), "the other log is reported: " + output);
    assertFalse(output.contains("\tat io.sluice"), output);
  }

  /** From the file to the report, in a heap that does not hold the line; packed, so that the disk need not either. */
  @Test
  void lineOfAGigabyteIsSkippedAndSaid() throws Exception {
    Path log = folder.resolve("long-line");
    try (OutputStream file = new BufferedOutputStream(Files.newOutputStream(log))) {
      file.write(gzip(TestLog.ofSort("long").text().getBytes(StandardCharsets.UTF_8)));
      file.write(gzip("{\"Event\":\"SparkListenerTaskEnd\",\"x\":\"".getBytes(StandardCharsets.UTF_8)));
      byte[] part = gzip("x".repeat(1 << 24).getBytes(StandardCharsets.UTF_8));
      for (int written = 0; written < 64; written++) {
        file.write(part);
      }
      file.write(gzip("\"}\n{\"Event\":\"SparkListenerX\"}\n".getBytes(StandardCharsets.UTF_8)));
    }
    Path json = folder.resolve("advice.json");
    String output = runWithHeap("32m", 0, log.toString(), "--json", json.toString());
    assertTrue(output.contains("1 line of the log was skipped: damaged, or too long."), output);
    String text = Files.readString(json);
    assertTrue(text.contains("\"events\" : 87") && text.contains("\"long_lines\" : 1"), text);
  }

  private static byte[] gzip(byte[] bytes) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (OutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(bytes);
    }
    return packed.toByteArray();
  }

  /** What a process of its own says. */
  private static String runWithHeap(String heap, int exitCode, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx" + heap, "-cp", System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(1, TimeUnit.MINUTES), "the advisor does not end");
    assertEquals(exitCode, process.exitValue(), output);
    return output;
  }

  private int run(String... arguments) {
    return Main.run(List.of(arguments), new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8), false);
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }
}
