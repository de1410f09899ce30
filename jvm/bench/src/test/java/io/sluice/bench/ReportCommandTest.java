package io.sluice.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.ResultFile;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** {@code ./sluice report} on the results that are committed, and on files that are not results. */
class ReportCommandTest {

  private static final Path COMMITTED = Path.of("../../bench/results");

  @TempDir private Path folder;

  @Test
  void thePageHasEveryWorkloadOfTheCommittedResultsAndRefersToNothingOutside() throws IOException {
    Path page = folder.resolve("new/report.html");
    assertEquals(0, execute(new StringWriter(), arguments(committed(), "-o", page.toString())));
    String html = Files.readString(page);
    for (Path file : committed()) {
      for (BenchResult result : ResultFile.read(file)) {
        assertTrue(html.contains(">" + result.workload() + "<"), result.workload());
        assertTrue(html.contains(result.environment().command()), file.toString());
      }
    }
    assertTrue(html.contains("aria-label=\"Seconds per workload and engine\"")
        && html.contains("aria-label=\"Bytes written to shuffles\""), "charts");
    assertFalse(html.matches("(?s).*(<script|<link|<img|src=|href=\"(?!#)).*"));
  }

  @Test
  void queriesOfTpchShareTwoChartsOfTheirOwn() throws IOException {
    Path file = folder.resolve("tpch.json");
    Files.writeString(file, "[" + IntStream.rangeClosed(1, 22).mapToObj(query -> "tpch-q" + query)
        .map(query -> result(query, "stock", 3) + "," + result(query, "sluice", 2)).collect(Collectors.joining(","))
        + "]");
    Path page = folder.resolve("tpch.html");
    assertEquals(0, execute(new StringWriter(), "report", file.toString(), "-o", page.toString()));
    String html = Files.readString(page);
    assertTrue(html.contains("22 queries: stock 66.0 s, sluice 44.0 s in all, 1.50 times as fast"), "summary");
    assertEquals(2, html.split("<svg", -1).length - 1);
    List<String> ids = Pattern.compile(" id=\"([^\"]*)\"").matcher(html).results().map(id -> id.group(1)).toList();
    assertEquals(ids.size(), ids.stream().distinct().count());
  }

  @Test
  void theChartOfTimesIsXmlWithTheWorkloadsNames() throws Exception {
    Path chart = folder.resolve("times.svg");
    assertEquals(0, execute(new StringWriter(), arguments(committed(), "--chart", chart.toString())));
    assertEquals("svg", DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(chart.toFile())
        .getDocumentElement().getNodeName());
    assertTrue(Files.readString(chart).contains(ResultFile.read(committed().get(0)).get(0).workload()));
  }

  @Test
  void hiBenchsFormatHasALinePerWorkloadAndEngine() throws IOException {
    Path file = folder.resolve("terasort.json");
    Files.writeString(file, "[" + result("terasort", "stock", 20) + "," + result("terasort", "sluice", 10) + "]");
    StringWriter output = new StringWriter();
    assertEquals(0, execute(output, "report", "--hibench-format", file.toString()));
    List<String> lines = output.toString().lines().map(line -> line.replaceAll(" +", " ")).toList();
    assertEquals(List.of(
        "Type Date Time Input_data_size Duration(s) Throughput(bytes/s) Throughput/node",
        "JavaSparkTerasort 2026-11-21 22:51:16 1000000000 20.000 50000000 25000000",
        "JavaSluiceTerasort 2026-11-21 22:51:16 1000000000 10.000 100000000 50000000"), lines);
  }

  @Test
  void theHostsOfAClusterAreOnThePageAndCountAsNodes() throws IOException {
    Path file = folder.resolve("cluster.json");
    Files.writeString(file, "[" + result("terasort", "stock", 10).replace("\"local-cluster[2,1,4096]\"",
        "\"spark://10.77.0.1:7077\", \"hosts\": {\"workers\": 4, \"cores\": 1, \"rate\": \"1gbit\", \"loss\": \"1%\"}")
        + "]");
    Path page = folder.resolve("cluster.html");
    StringWriter output = new StringWriter();
    assertEquals(0, execute(output, "report", "--hibench-format", file.toString(), "-o", page.toString()));
    assertTrue(output.toString().contains(" 100000000 "), output.toString());
    assertTrue(output.toString().contains(" 25000000\n"), output.toString());
    assertTrue(Files.readString(page).contains("4 hosts on one machine, 1 core each, 1gbit links, loss 1%"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "this is no JSON                         | not the JSON that ./sluice bench writes",
    "[{\"workload\": \"sort\"                  | not the JSON that ./sluice bench writes",
    "{}                                      | not a list of results",
    "[]                                      | not a list of results",
    "[3]                                     | result 1 is not an object",
    "[{\"workload\": \"sort\"}]                | result 1 has no field engine",
  })
  void aFileThatHasNoResultsIsRefusedWithAReason(String content, String reason) throws IOException {
    Path file = folder.resolve("wrong.json");
    Files.writeString(file, content);
    assertRefused(file, file + ": ", reason);
  }

  @Test
  void aFileThatIsMissingOrLacksRunsOrEnvironmentIsRefused() throws IOException {
    assertRefused(folder.resolve("missing.json"), "missing.json: there is no such file");
    Path file = folder.resolve("wrong.json");
    Files.writeString(file, "[" + result("sort", "stock", 1).replace("[1.0]", "[]") + "]");
    assertRefused(file, "result 1 has no runs");
    Files.writeString(file, "[" + result("sort", "stock", 1).replace("\"cpu\"", "\"gpu\"") + "]");
    assertRefused(file, "the environment of result 1 has no field cpu");
    Files.write(file, new byte[] {(byte) 0xFF, (byte) 0xFE, 0});
    assertRefused(file, "not the JSON that ./sluice bench writes");
  }

  private static void assertRefused(Path file, String... messages) {
    StringWriter output = new StringWriter();
    assertEquals(2, execute(output, "report", file.toString(), "-o", file + ".html"));
    Stream.of(messages).forEach(message -> assertTrue(output.toString().contains(message), output.toString()));
    assertFalse(Files.exists(Path.of(file + ".html")));
  }

  private static String result(String workload, String engine, double seconds) {
    return ("{\"workload\": \"%s\", \"engine\": \"%s\", \"spark\": \"4.2.0\", \"rows\": 10000000, "
        + "\"runs_s\": [%s], \"median_s\": %s, \"shuffle_write_bytes\": 1, \"shuffle_read_bytes\": 1, "
        + "\"spilled_bytes\": 0, \"cpu_s\": 1, \"gc_s\": 0, \"checksum\": \"x\", \"ordered\": true, "
        + "\"environment\": {\"command\": \"./sluice bench\", \"started\": \"2026-11-21T22:51:16Z\", "
        + "\"cpu\": \"C\", \"java\": \"17\", \"master\": \"local-cluster[2,1,4096]\"}}")
        .formatted(workload, engine, seconds, seconds);
  }

  private static List<Path> committed() throws IOException {
    try (Stream<Path> files = Files.list(COMMITTED)) {
      return files.filter(file -> file.toString().endsWith(".json")).sorted().toList();
    }
  }

  private static String[] arguments(List<Path> files, String... more) {
    List<String> arguments = new ArrayList<>(List.of("report"));
    files.forEach(file -> arguments.add(file.toString()));
    arguments.addAll(List.of(more));
    return arguments.toArray(String[]::new);
  }

  private static int execute(StringWriter output, String... arguments) {
    PrintWriter writer = new PrintWriter(output, true);
    CommandLine commandLine = Main.commandLine().setErr(writer).setOut(writer);
    return commandLine.execute(arguments);
  }
}
