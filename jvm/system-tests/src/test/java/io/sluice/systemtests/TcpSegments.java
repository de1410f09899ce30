package io.sluice.systemtests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The kernel's TCP counters of this process's network namespace. */
final class TcpSegments {
  private static final Path COUNTERS = Path.of("/proc/net/snmp");
  private static final String PROTOCOL = "Tcp:";

  private TcpSegments() {}

  /** Segments that were sent more than once, because packets were lost or late. */
  static long sentAgain() throws IOException {
    List<String[]> tcp = Files.readAllLines(COUNTERS).stream()
        .filter(line -> line.startsWith(PROTOCOL)).map(line -> line.split(" ")).toList();
    return Long.parseLong(tcp.get(1)[List.of(tcp.get(0)).indexOf("RetransSegs")]);
  }
}
