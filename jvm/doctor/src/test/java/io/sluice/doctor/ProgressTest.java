package io.sluice.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.host.FakeHost;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is said while checks run. */
class ProgressTest {
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long HOUR_MILLIS = TimeUnit.HOURS.toMillis(1);

  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final PrintStream out = new PrintStream(err, true, StandardCharsets.UTF_8);

  @TempDir private Path root;

  @Test
  void aLineForTheCheckThatRunsWithoutATerminal() throws InterruptedException {
    try (Progress progress = new Progress(out, false, 1, 1)) {
      progress.begins(1, 20, "Java");
      await("checking 1 of 20: Java\n");
      progress.begins(2, 20, "UCX library");
      await("checking 2 of 20: UCX library\n");
    }
    assertEquals(2, text().lines().count(), "each check is said once: " + text());
  }

  @Test
  void aBarThatVanishesOnATerminal() throws InterruptedException {
    try (Progress progress = new Progress(out, true, 1, 1)) {
      progress.begins(1, 2, "Java");
      await("\rchecking [>                   ] 1 of 2: Java\u001b[K");
      progress.begins(2, 2, "UCX library");
      await("\rchecking [==========>         ] 2 of 2: UCX library\u001b[K");
    }
    assertTrue(text().endsWith("\r\u001b[K"), this::text);
  }

  @Test
  void nothingBeforeItTakesLong() {
    try (Progress progress = new Progress(out, true, HOUR_MILLIS, 1)) {
      progress.begins(1, 2, "Java");
    }
    assertEquals("", text());
  }

  @Test
  void everyCheckIsSaid() {
    StringBuilder said = new StringBuilder();
    Doctor.examine(FakeHost.ordinary(root), Options.parse(List.of()), "0.1.0", "/opt/sluice.jar",
        (number, checks, subject) -> said.append(number + " of " + checks + " " + subject + "\n"));
    assertTrue(said.toString().startsWith("1 of 20 platform\n2 of 20 Java\n"), said::toString);
    assertTrue(said.toString().endsWith("\n20 of 20 TCP\n"), said::toString);
  }

  private void await(String part) throws InterruptedException {
    long end = System.nanoTime() + LIMIT_NANOS;
    while (!text().contains(part)) {
      assertTrue(System.nanoTime() < end, () -> "nothing of \"" + part + "\" in: " + text());
      Thread.sleep(1);
    }
  }

  private String text() {
    return err.toString(StandardCharsets.UTF_8);
  }
}
