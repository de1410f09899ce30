package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeCore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/** {@code java -jar … advise} reads the event logs that this line of Spark writes, in all forms and codecs. */
class AdvisorJarTest {
  private static final long ROWS = 20_000;
  private static final int SLICES = 4;

  @TempDir private Path logs;

  /** A query and an RDD job on Spark's own shuffle, in each form that a log can have. */
  @Test
  void logsOfThisLineAreRead() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    Map<String, Map<String, String>> forms = new LinkedHashMap<>();
    forms.put("rolling zstd", Map.of("spark.eventLog.rolling.enabled", "true", "spark.eventLog.compress", "true",
        "spark.eventLog.rolling.maxFileSize", "10m"));
    for (String codec : List.of("lz4", "snappy", "lzf", "zstd")) {
      forms.put("single " + codec, Map.of("spark.eventLog.rolling.enabled", "false", "spark.eventLog.compress", "true",
          "spark.eventLog.compression.codec", codec));
    }
    forms.put("single plain",
        Map.of("spark.eventLog.rolling.enabled", "false", "spark.eventLog.compress", "false"));
    forms.forEach(this::runStock);
    Path json = logs.resolveSibling(logs.getFileName() + ".json");
    Path html = logs.resolveSibling(logs.getFileName() + ".html");
    String text = advise("--html", html.toString(), logs.toString(), "--json", json.toString());
    for (String form : forms.keySet()) {
      assertTrue(text.contains(form), form + " is not in " + text);
    }
    String report = new String(Files.readAllBytes(json), StandardCharsets.UTF_8);
    Files.delete(json);
    String page = new String(Files.readAllBytes(html), StandardCharsets.UTF_8);
    Files.delete(html);
    assertTrue(page.contains("</html>") && forms.keySet().stream().allMatch(page::contains), page);
    assertEquals(forms.size(), count(report, "\"on_sluice\" : false"), report);
    assertEquals(forms.size(), count(report, "\"partitioning\" : \"hash\""), report);
    assertEquals(forms.size(), count(report, "\"moves\" : \"rdd_records\""), report);
    assertEquals(forms.size(), count(report, "\"fault\" : \"\""), report);
    assertEquals(forms.size(), count(report, "\"damaged_lines\" : 0"), report);
  }

  private void runStock(String name, Map<String, String> form) {
    SparkApplication.Builder builder = SparkApplication.on(Engine.STOCK).set("spark.app.name", name)
        .set("spark.eventLog.enabled", "true").set("spark.eventLog.dir", logs.toUri().toString());
    form.forEach(builder::set);
    try (SparkApplication stock = builder.start()) {
      Tables.events(stock.session(), ROWS, SLICES).groupBy("k").count().sort("k").collectAsList();
      List<Integer> numbers = IntStream.range(0, (int) ROWS).boxed().collect(Collectors.toList());
      stock.context().parallelize(numbers, SLICES).mapToPair(n -> new Tuple2<>(n % 100, 1)).reduceByKey(Integer::sum)
          .count();
    }
  }

  private static int count(String text, String part) {
    return text.split(Pattern.quote(part), -1).length - 1;
  }

  private static String advise(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(JavaUnderTest.command());
    command.add("-jar");
    command.add(Path.of(NativeCore.class.getProtectionDomain().getCodeSource().getLocation().getPath()).toString());
    command.add("advise");
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(1, TimeUnit.MINUTES), "the advisor does not end");
    assertEquals(0, process.exitValue(), output);
    return output;
  }
}
