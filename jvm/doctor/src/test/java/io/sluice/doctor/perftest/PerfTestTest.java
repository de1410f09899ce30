package io.sluice.doctor.perftest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Arguments, and the file that is read. That processes read each other is PerfTestJarTest's, with the jar. */
class PerfTestTest {

  @ParameterizedTest
  @CsvSource({"--connect node7, true, node7, 13400", "--connect node7:99, true, node7, 99",
    "--connect [fd00::2]:99, true, fd00::2, 99", "--listen, false, '', 13400", "--listen 0, false, '', 0",
    "--listen 10.0.0.7:99, false, 10.0.0.7, 99", "--listen --seconds 3, false, '', 13400"})
  void placesAreHostsAndPorts(String arguments, boolean connect, String host, int port) {
    PerfTestOptions options = PerfTestOptions.parse(List.of(arguments.split(" ")));
    assertEquals(connect, options.connect());
    assertEquals(host, options.host());
    assertEquals(port, options.port());
  }

  @ParameterizedTest
  @CsvSource({"--connect, --connect needs a value", "--listen --connect node7, give one of --listen and --connect",
    "--seconds 2, give one of --listen and --connect", "--connect node7 --seconds 0, is not a number above 0",
    "--connect node7:70000, has no port from 0 to 65535", "--connect node7:x, has no port", "--fast, unknown argument"})
  void wrongArgumentsAreNamed(String arguments, String message) {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int code = PerfTest.run(List.of(arguments.split(" ")), new PrintStream(new ByteArrayOutputStream()),
        new PrintStream(err, true, StandardCharsets.UTF_8));
    assertEquals(2, code);
    assertTrue(err.toString(StandardCharsets.UTF_8).contains(message), err.toString(StandardCharsets.UTF_8));
  }

  @Test
  void blocksOfTheFileAreWhatTheReaderExpects() throws IOException {
    Path path;
    try (BlockFile file = BlockFile.make()) {
      path = Path.of(file.path());
      byte[] all = Files.readAllBytes(path);
      long[] offsets = BlockFile.offsets();
      assertEquals(offsets[BlockFile.BLOCKS], all.length);
      for (int block = 0; block < BlockFile.BLOCKS; block += 7) {
        assertTrue(Arrays.equals(BlockFile.content(block),
            Arrays.copyOfRange(all, (int) offsets[block], (int) offsets[block + 1])), "block " + block);
      }
    }
    assertFalse(Files.exists(path));
    assertFalse(Arrays.equals(BlockFile.content(0), BlockFile.content(1)));
  }

  @Test
  void secondsMustBeANumber() {
    assertThrows(IllegalArgumentException.class, () -> PerfTestOptions.parse(List.of("--listen", "--seconds", "x")));
  }
}
