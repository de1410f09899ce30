package io.sluice.advisor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Whether standard error, where progress is shown, is a terminal. {@code System.console()} does not tell: it asks for
 * standard input and output, and from Java 22 to 24 there is one even where both are redirected.
 */
public final class Terminal {
  /** Says it for a program whose starter knows: 1 if standard error is a terminal, 0 if not. */
  private static final String VARIABLE = "SLUICE_TERMINAL";

  private Terminal() {}

  public static boolean onStandardError() {
    return is(System.getenv(VARIABLE), Paths.get("/proc/self/fd/2"));
  }

  /**
   * @param said value of the variable, or null
   * @param descriptor the link that the kernel makes for a file descriptor; elsewhere than on Linux there is none
   */
  static boolean is(String said, Path descriptor) {
    if (said != null) {
      return said.equals("1");
    }
    try {
      String file = Files.readSymbolicLink(descriptor).toString();
      return file.startsWith("/dev/pts/") || file.startsWith("/dev/tty") || file.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException e) {
      return false;
    }
  }
}
