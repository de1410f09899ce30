package io.sluice.advisor.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EventLogLinesTest {
  private static final String A = "{\"Event\":\"A\",\"x\":1}\n";
  private static final String B = "{\"Event\":\"B\",\"text\":\"<script>\\u0000\"}\n";

  @TempDir private Path folder;
  private final List<String> taken = new ArrayList<>();

  private String read(byte[] bytes) throws IOException, UnreadableLogException {
    Path file = folder.resolve("log");
    Files.write(file, bytes);
    return new EventLogLines(beginning -> !beginning.startsWith("{\"Event\":\"B\""), taken::add)
        .read(new EventLog(file, List.of(file), true), count -> {});
  }

  private String read(String text) throws IOException, UnreadableLogException {
    return read(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void linesThatAreWantedAreTaken() throws Exception {
    assertEquals("", read(A + B + A));
    assertEquals(List.of(A.trim(), A.trim()), taken);
  }

  @Test
  void aCutLineIsNotTaken() throws Exception {
    assertEquals("it ends in the middle of an event", read(A + A.substring(0, 15)));
    assertEquals(1, taken.size());
  }

  @Test
  void everyLengthOfALogIsReadWithoutAnException() throws Exception {
    byte[] whole = (A + B + A).getBytes(StandardCharsets.UTF_8);
    for (int bytes = "{\"Event\":\"".length(); bytes < whole.length; bytes++) {
      read(Arrays.copyOf(whole, bytes));
    }
  }

  @Test
  void linesOfOtherToolsAndTooLongOnesAreSkippedAndCounted() throws Exception {
    String tooLong = "{\"Event\":\"A\",\"x\":\"" + "y".repeat(65 << 20) + "\"}\n";
    assertEquals("2 lines are damaged or too long and were skipped", read(A + "not json\n" + tooLong + A));
    assertEquals(2, taken.size());
  }

  /** Packed, so that the file is small: parts of a line are packed one by one. */
  @Test
  void aLineOfAGigabyteIsSkippedAndWhatFollowsIsTaken() throws Exception {
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    file.write(gzip(A + "{\"Event\":\"A\",\"x\":\""));
    byte[] part = gzip("y".repeat(1 << 24));
    for (int written = 0; written < 64; written++) {
      file.write(part);
    }
    file.write(gzip("\"}\n" + A));
    assertEquals("1 line is damaged or too long and was skipped", read(file.toByteArray()));
    assertEquals(List.of(A.trim(), A.trim()), taken);
  }

  private static byte[] gzip(String text) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (OutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return packed.toByteArray();
  }

  @Test
  void whatIsNoLogIsRefusedWithTheReason() {
    assertTrue(assertThrows(UnreadableLogException.class, () -> read("")).getMessage().endsWith("the file is empty"));
    assertTrue(assertThrows(UnreadableLogException.class, () -> read("a\nb\n".repeat(20_000))).getMessage()
        .endsWith("no event log of Spark: not one of its first 10000 lines is an event"));
    assertTrue(
        assertThrows(UnreadableLogException.class, () -> read(new byte[] {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, 1}))
            .getMessage().contains("nothing of it can be read"));
  }
}
