package io.sluice.advisor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Whether people watch what a program writes to standard error. */
public final class Terminal {
  /** Set by {@code ./sluice} and the Python package: 1 if standard error is a terminal, 0 if not. */
  private static final String SAID = "SLUICE_TERMINAL";
  private static final Path STANDARD_ERROR = Paths.get("/proc/self/fd/2");

  private Terminal() {}

  /**
   * Whether standard error is a terminal. {@code System.console()} tells of standard input and output instead, and on
   * some versions of Java always of a console.
   */
  public static boolean isStandardError() {
    return is(System.getenv(SAID), STANDARD_ERROR);
  }

  /**
   * @param said 1 or 0; null for what the descriptor says
   * @param descriptor a link to what is open, as in {@code /proc/self/fd}
   */
  static boolean is(String said, Path descriptor) {
    if (said != null) {
      return said.equals("1");
    }
    try {
      String open = Files.readSymbolicLink(descriptor).toString();
      return open.startsWith("/dev/pts/") || open.startsWith("/dev/tty") || open.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException e) {
      // Not Linux, or a sandbox without /proc.
      return false;
    }
  }
}
