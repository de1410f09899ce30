package io.sluice.advisor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** What is said while logs are read. */
class ProgressTest {
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @Test
  void aLineAtEachTenthWithoutATerminal() {
    read(false, 0);
    String text = err.toString(StandardCharsets.UTF_8);
    assertEquals(10, text.lines().count(), text);
    assertTrue(text.startsWith("read 10 % of 100 MB\n") && text.endsWith("read 100 % of 100 MB\n"), text);
  }

  @Test
  void aBarThatVanishesOnATerminal() {
    read(true, 0);
    String text = err.toString(StandardCharsets.UTF_8);
    assertTrue(text.startsWith("\rreading [>") && text.endsWith("\r\u001b[K"), text);
  }

  @Test
  void nothingBeforeItTakesLong() {
    read(true, Progress.QUIET_NANOS);
    read(false, Progress.QUIET_NANOS);
    assertEquals("", err.toString(StandardCharsets.UTF_8));
  }

  private void read(boolean terminal, long quietNanos) {
    PrintStream out = new PrintStream(err, true, StandardCharsets.UTF_8);
    try (Progress progress = new Progress(out, terminal, 100_000_000, quietNanos)) {
      for (int i = 0; i < 1_000; i++) {
        progress.read(100_000);
      }
    }
  }
}
