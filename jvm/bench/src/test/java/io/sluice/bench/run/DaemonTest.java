package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DaemonTest {

  private static final Duration LONG = Duration.ofSeconds(120);

  @TempDir private Path folder;

  /** A server that says that it is ready, if it is told to, and stays or ends. */
  public static final class Server {
    private Server() {}

    /** The second argument is {@code stay} or {@code end}. */
    public static void main(String[] arguments) throws InterruptedException {
      System.out.println(arguments[0] + " as " + System.getenv("RSS_IP"));
      if (arguments[1].equals("stay")) {
        Thread.sleep(Duration.ofMinutes(10).toMillis());
      }
      System.exit(3);
    }
  }

  @Test
  void itIsReadyWhenItSaysSoAndEndsWhenItIsClosed() {
    Daemon daemon = start("ready", "stay");
    daemon.awaitLog("ready as 127.0.0.1", LONG);
    ProcessHandle process = daemon.process();
    assertTrue(process.isAlive());
    daemon.close();
    assertFalse(process.isAlive());
  }

  @Test
  void oneThatEndsOrIsNotReadyInTimeFailsWithItsLog() {
    try (Daemon daemon = start("other", "end")) {
      assertEquals("server has ended with status 3 (log: " + folder.resolve("server.log") + ")",
          assertThrows(EngineFailure.class, () -> daemon.awaitLog("ready", LONG)).getMessage());
    }
    try (Daemon daemon = start("other", "stay")) {
      assertTrue(assertThrows(EngineFailure.class, () -> daemon.awaitLog("ready", Duration.ofMillis(1))).getMessage()
          .startsWith("server was not ready after 0 s (log: "));
    }
  }

  @Test
  void freePortsAreDifferent() {
    assertEquals(5, new HashSet<>(Daemon.freePorts(5)).size());
  }

  private Daemon start(String text, String then) {
    return Daemon.start(new Daemon.Program("server", List.of("-Xmx32m", "-XX:TieredStopAtLevel=1"),
        List.of(Path.of("target/test-classes").toAbsolutePath()), Server.class.getName(), List.of(text, then)), folder,
        List.of(), Path.of("target/classes").toAbsolutePath(), Map.of("RSS_IP", "127.0.0.1"));
  }
}
