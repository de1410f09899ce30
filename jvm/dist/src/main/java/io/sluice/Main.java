package io.sluice;

import java.io.IOException;
import java.util.Arrays;

/**
 * The main class of the jar, which {@code java -jar} starts: {@code advise} goes to the advisor, everything else to the
 * doctor.
 */
public final class Main {
  private static final String ADVISE = "advise";

  private Main() {}

  public static void main(String[] arguments) throws IOException {
    if (arguments.length > 0 && arguments[0].equals(ADVISE)) {
      io.sluice.advisor.Main.main(Arrays.copyOfRange(arguments, 1, arguments.length));
    } else {
      io.sluice.doctor.Main.main(arguments);
    }
  }
}
