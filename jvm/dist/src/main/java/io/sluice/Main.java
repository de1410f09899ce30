package io.sluice;

import java.io.IOException;
import java.util.Arrays;

/**
 * The main class of the jar, which {@code java -jar} starts: {@code advise} goes to the advisor, {@code report} to the
 * report of event logs, which needs Spark's jars on the class path, everything else to the doctor.
 */
public final class Main {
  private static final String ADVISE = "advise";
  private static final String REPORT = "report";

  private Main() {}

  public static void main(String[] arguments) throws IOException {
    if (arguments.length > 0 && arguments[0].equals(ADVISE)) {
      io.sluice.advisor.Main.main(Arrays.copyOfRange(arguments, 1, arguments.length));
    } else if (arguments.length > 0 && arguments[0].equals(REPORT)) {
      LogReports.main(Arrays.copyOfRange(arguments, 1, arguments.length));
    } else {
      io.sluice.doctor.Main.main(arguments);
    }
  }
}
