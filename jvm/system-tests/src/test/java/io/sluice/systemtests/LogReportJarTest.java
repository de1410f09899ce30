package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeCore;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code java -jar} with {@code report}: the finished jar, with Spark's classes from {@code SPARK_HOME}. */
@InAll
@Tag("once")
class LogReportJarTest {
  private static final long ROWS = 20_000;
  private static final int SLICES = 4;
  private static final String NAME = "<script>alert(1)</script>";

  @TempDir private Path folder;

  @Test
  void aPageIsMadeOfTheLogsThatCanBeRead() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    Path logs = Files.createDirectories(folder.resolve("logs"));
    run(Engine.UNDER_TEST, logs);
    run(Engine.STOCK, logs);
    Path page = folder.resolve("page.html");
    assertEquals(0, report(logs.toString(), "-o", page.toString()), output());
    String html = new String(Files.readAllBytes(page), StandardCharsets.UTF_8);
    assertTrue(html.contains("Rows written</th><td>20,000</td>"), html);
    assertTrue(html.contains(" writes it</h5>") && html.contains("<svg role=\"img\" aria-label=\"Stage "), html);
    assertTrue(html.contains("The log has nothing of Sluice"), html);
    assertFalse(html.contains("<script") || html.contains("href=") || html.contains("src="), html);

    Files.delete(page);
    String classPath = jar() + File.pathSeparator + Paths.get(System.getenv("SPARK_HOME"), "jars", "*");
    assertEquals(0, java(Arrays.asList("-cp", classPath, "io.sluice.Main"), logs.toString(), "-o", page.toString()),
        output());
    assertEquals(html, new String(Files.readAllBytes(page), StandardCharsets.UTF_8));

    Path empty = Files.write(logs.resolve("empty"), new byte[0]);
    Path other = Files.write(logs.resolve("other"), Arrays.asList("a", "b"));
    assertEquals(1, report(logs.toString(), "-o", page.toString()));
    assertTrue(output().contains("empty: the file is empty") && output().contains("other: no event log of Spark"),
        output());
    assertTrue(new String(Files.readAllBytes(page), StandardCharsets.UTF_8).contains("Rows written</th><td>20,000"),
        "the others are reported");
    Files.delete(empty);
    Files.delete(other);
    assertEquals(1, report(folder.resolve("nowhere").toString(), "-o", page.toString()));
    assertTrue(output().contains("there is no such file"), output());
    assertEquals(2, report());
    assertEquals(2, report("--wrong", logs.toString()));
  }

  private static void run(Engine engine, Path logs) {
    try (SparkApplication application = SparkApplication.on(engine).set("spark.app.name", NAME)
        .set("spark.eventLog.enabled", "true").set("spark.eventLog.dir", logs.toUri().toString()).start()) {
      assertEquals(ROWS,
          Tables.events(application.session(), ROWS, SLICES).repartition(SLICES, col("k")).collectAsList().size());
    }
  }

  private static String jar() {
    return NativeCore.class.getProtectionDomain().getCodeSource().getLocation().getPath();
  }

  private int report(String... arguments) throws IOException, InterruptedException {
    return java(Arrays.asList("-jar", jar()), arguments);
  }

  private int java(List<String> program, String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(JavaUnderTest.command());
    command.addAll(program);
    command.add("report");
    command.addAll(Arrays.asList(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true)
        .redirectOutput(folder.resolve("output").toFile()).start();
    assertTrue(process.waitFor(2, TimeUnit.MINUTES), "the report does not end");
    return process.exitValue();
  }

  private String output() throws IOException {
    return new String(Files.readAllBytes(folder.resolve("output")), StandardCharsets.UTF_8);
  }
}
