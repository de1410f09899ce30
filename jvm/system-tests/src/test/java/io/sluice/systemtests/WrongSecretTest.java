package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * One process has published blocks, and the process that tries to read them has another secret. Skipped by name where
 * UCX cannot be opened.
 */
@Tag("once")
class WrongSecretTest {
  private static final String BLOCK = "shuffle_0_0_0";

  @TempDir Path folder;

  @Test
  void aReaderWithAnotherSecretLearnsNoBlock() throws Exception {
    OneSidedTransportTest.assumeUcx();
    byte[] content = new byte[100_000];
    new Random(1).nextBytes(content);
    Path data = Files.write(folder.resolve("data"), content);
    Path log = folder.resolve("owner.log");
    try (Program owner = Program.start(owner(data, log), log)) {
      byte[] address = Base64.getDecoder().decode(owner.await(AuthenticatedBlockServer.ADDRESS));
      readWithAnotherSecret(address);
      // The owner maps a file when it is asked where a block of it is.
      assertFalse(hasMapped(owner, data), "the owner has shown the block");
      try (TransportTestClient reader = TransportTestClient.of("the application's secret", address)) {
        assertArrayEquals(content, reader.read(BLOCK).orElseThrow());
        assertEquals(List.of(), reader.fetchedByNetty());
      }
      assertTrue(hasMapped(owner, data));
      owner.goOn();
      owner.awaitEnd();
    }
  }

  private static void readWithAnotherSecret(byte[] address) throws Exception {
    try (LogCapture log = LogCapture.open();
        TransportTestClient reader = TransportTestClient.of("another secret", address)) {
      for (int i = 0; i < 2; i++) {
        assertEquals(Optional.empty(), reader.read(BLOCK));
      }
      assertEquals(List.of(BLOCK, BLOCK), reader.fetchedByNetty());
      assertEquals(0, reader.counted(Counter.TRANSPORT_BLOCKS));
      // The owner sends nothing to who cannot prove itself, so the reader waits for its timeout once.
      long unanswered = reader.counted(Counter.TRANSPORT_NETTY_TIMEOUT);
      assertEquals(2, unanswered + reader.counted(Counter.TRANSPORT_NETTY_PEER_FAILED));
      assertEquals(1, reader.counted(Counter.TRANSPORT_PEER_FAILURES));
      assertEquals(1, log.messages(Level.WARN, "another secret than this application's").size());
    }
  }

  private ProcessBuilder owner(Path data, Path log) {
    return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m", "-cp",
        System.getProperty("java.class.path"), AuthenticatedBlockServer.class.getName(), data.toString(),
        "the application's secret").redirectError(log.toFile());
  }

  private static boolean hasMapped(Program process, Path file) throws IOException {
    try (var mappings = Files.lines(Path.of("/proc", Long.toString(process.pid()), "maps"))) {
      return mappings.anyMatch(line -> line.endsWith(file.toString()));
    }
  }
}
