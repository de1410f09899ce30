package io.sluice.advisor.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.advisor.TestLog;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each codec of Spark: whole, cut and damaged. */
class CodecsTest {
  private final byte[] log = (TestLog.ofSort("aaaaaaaaaaaaaaaaaaaabbbbbbbbbb").text() + "x".repeat(5_000) + "\n"
      + "yyyz".repeat(2_000)).getBytes();

  @ParameterizedTest
  @EnumSource(Compressed.class)
  void wholeFileGivesItsBytes(Compressed codec) throws IOException {
    assertArrayEquals(log, Codecs.plain(new ByteArrayInputStream(codec.of(log))).readAllBytes());
  }

  @ParameterizedTest
  @EnumSource(value = Compressed.class, mode = EnumSource.Mode.EXCLUDE, names = "PLAIN")
  void cutFileGivesWholeLinesAndSaysThatItIsCut(Compressed codec) throws IOException {
    byte[] whole = codec.of(log);
    byte[] cut = Arrays.copyOf(whole, whole.length * 2 / 3);
    LineInput lines = new LineInput(Codecs.plain(new ByteArrayInputStream(cut)));
    assertTrue(lines.nextLine());
    assertTrue(new String(lines.readAllBytes()).startsWith("{\"Event\":\"SparkListenerLogStart\""));
    while (lines.nextLine()) {
      assertTrue(lines.readAllBytes().length >= 0);
    }
    assertNotNull(lines.fault(), codec.name());
  }

  @ParameterizedTest
  @EnumSource(Compressed.class)
  void damagedFileEndsWithoutAnException(Compressed codec) throws IOException {
    byte[] whole = codec.of(log);
    Random random = new Random(42);
    for (int round = 0; round < 200; round++) {
      byte[] damaged = whole.clone();
      for (int i = 0; i < 5; i++) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
      }
      try (var in = Codecs.plain(new ByteArrayInputStream(damaged))) {
        LineInput lines = new LineInput(in);
        while (lines.nextLine()) {
          assertTrue(lines.readAllBytes().length < 1 << 27);
        }
      } catch (IOException e) {
        // A header that is damaged is told when the file is opened.
        assertFalse(e.toString().isEmpty());
      }
    }
  }

  @Test
  void shortFilesAreReadAsTheyAre() throws IOException {
    for (byte[] bytes : new byte[][] {{}, {'Z'}, {'L', 'Z', '4'}, {0x28, (byte) 0xb5}}) {
      assertArrayEquals(bytes, Codecs.plain(new ByteArrayInputStream(bytes)).readAllBytes());
    }
  }

  @Test
  void lengthsThatNoBlockHasTakeNoMemory() {
    byte[] lz4 = ("LZ4Block%" + "\u007f".repeat(12)).getBytes();
    LineInput lines = new LineInput(new Lz4BlockInput(new ByteArrayInputStream(lz4)));
    assertFalse(lines.nextLine());
    assertEquals("a compressed block claims to have 2139062143 bytes", lines.fault());
  }
}
