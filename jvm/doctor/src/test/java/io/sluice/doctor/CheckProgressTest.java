package io.sluice.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** What is said while the checks run. */
class CheckProgressTest {
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private CheckProgress start(boolean terminal, long quietMillis) {
    return CheckProgress.start(new PrintStream(err, true, StandardCharsets.UTF_8), terminal, quietMillis);
  }

  private String text() {
    return err.toString(StandardCharsets.UTF_8);
  }

  private void await(Predicate<String> said) throws InterruptedException {
    for (int i = 0; i < 6_000 && !said.test(text()); i++) {
      Thread.sleep(10);
    }
    assertTrue(said.test(text()), text());
  }

  @Test
  void aLineForEachCheckThatTakesLongWithoutATerminal() throws InterruptedException {
    try (CheckProgress progress = start(false, 1)) {
      progress.begins("UCX", 9, 20);
      await("checking 10 of 20: UCX\n"::equals);
      progress.begins("TCP", 19, 20);
      await("checking 10 of 20: UCX\nchecking 20 of 20: TCP\n"::equals);
    }
  }

  @Test
  void aBarThatVanishesOnATerminal() throws InterruptedException {
    try (CheckProgress progress = start(true, 1)) {
      progress.begins("UCX", 10, 20);
      await(said -> said.contains("[" + "=".repeat(20) + ">" + " ".repeat(19) + "] checking 11 of 20: UCX"));
    }
    assertTrue(text().endsWith("\r\u001b[K"), text());
  }

  @Test
  void nothingBeforeItTakesLong() {
    try (CheckProgress progress = start(true, TimeUnit.HOURS.toMillis(1))) {
      progress.begins("UCX", 10, 20);
    }
    assertEquals("", text());
  }
}
