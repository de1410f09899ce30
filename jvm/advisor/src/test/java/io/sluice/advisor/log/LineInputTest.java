package io.sluice.advisor.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Lines of streams of all kinds. */
class LineInputTest {

  @Test
  void linesAreGivenOneByOne() throws IOException {
    assertEquals(List.of("a", "", "bc"), lines("a\n\nbc\n"));
    assertEquals(List.of("a", "bc"), lines("a\nbc"));
    assertEquals(List.of(), lines(""));
    assertEquals(List.of(""), lines("\n"));
    String across = "x".repeat((1 << 16) - 1);
    assertEquals(List.of(across, "y", across + across, "z"), lines(across + "\ny\n" + across + across + "\nz"));
  }

  @Test
  void linesMayBeLeftUnread() {
    LineInput lines = input("first\nsecond\n" + "x".repeat(200_000) + "\nlast");
    int count = 0;
    while (lines.nextLine()) {
      count++;
    }
    assertEquals(4, count);
    assertFalse(lines.terminated());
  }

  @Test
  void lineOfAGigabyteIsSkipped() throws IOException {
    LineInput lines = new LineInput(new InputStream() {
      private long left = 1L << 30;

      @Override
      public int read() {
        throw new AssertionError("bytes are read in blocks");
      }

      @Override
      public int read(byte[] into, int offset, int length) {
        if (left <= 0) {
          return -1;
        }
        Arrays.fill(into, offset, offset + length, (byte) 'x');
        left -= length;
        if (left <= 0) {
          into[offset + length - 3] = '\n';
        }
        return length;
      }
    });
    assertTrue(lines.nextLine());
    long read = 0;
    byte[] buffer = new byte[1 << 16];
    for (int count = lines.read(buffer, 0, buffer.length); count >= 0; count = lines.read(buffer, 0, buffer.length)) {
      read += count;
    }
    assertTrue(read >= LineInput.LONGEST && read <= LineInput.LONGEST + buffer.length, () -> "a part was read");
    assertTrue(lines.tooLong());
    assertTrue(lines.nextLine());
    assertEquals("xx", new String(lines.readAllBytes()));
    assertFalse(lines.nextLine());
  }

  private static List<String> lines(String text) throws IOException {
    LineInput input = input(text);
    List<String> lines = new ArrayList<>();
    while (input.nextLine()) {
      lines.add(new String(input.readAllBytes()));
    }
    return lines;
  }

  private static LineInput input(String text) {
    return new LineInput(new ByteArrayInputStream(text.getBytes()));
  }
}
