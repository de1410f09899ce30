package io.sluice.bench.run;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** What the servers of other projects do in tests. */
public final class StubServer {

  private StubServer() {}

  /** Prints arguments and the configuration files that they name, then {@code ready}; stays for ten minutes. */
  public static void stay(String[] arguments, String ready) throws Exception {
    System.out.println("arguments " + String.join(" ", arguments));
    for (String argument : arguments) {
      if (argument.endsWith(".conf")) {
        System.out.println(Files.readString(Path.of(argument)));
      }
    }
    System.out.println("heap " + Runtime.getRuntime().maxMemory() / (1024 * 1024));
    System.out.println(ready);
    Thread.sleep(Duration.ofMinutes(10).toMillis());
  }
}
