package io.sluice;

import io.sluice.advisor.Terminal;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * The main class of the jar, which {@code java -jar} starts: {@code advise} goes to the advisor, {@code report} to the
 * report of event logs, {@code conf} to the translation of settings or the memory that they make executors use,
 * everything else to the doctor. Report and conf need Spark's classes, but not for {@code --help}.
 */
public final class Main {
  private static final String DOCTOR = "doctor";
  private static final String ADVISE = "advise";
  private static final String REPORT = "report";
  private static final String CONF = "conf";

  private Main() {}

  public static void main(String[] arguments) throws IOException {
    String command = arguments.length > 0 ? arguments[0] : DOCTOR;
    if (command.equals(ADVISE)) {
      io.sluice.advisor.Main.main(after(arguments));
    } else if (command.equals(REPORT)) {
      WithSpark.run(REPORT, "io.sluice.LogReports", after(arguments),
          arguments.length == 1 || asksForHelp(arguments));
    } else if (command.equals(CONF)) {
      boolean translates = arguments.length > 1 && arguments[1].startsWith("-");
      WithSpark.run(CONF, translates ? "io.sluice.spark.migration.TranslateConf"
          : "io.sluice.spark.conf.MemoryLimitReport", after(arguments), translates && asksForHelp(arguments));
    } else {
      io.sluice.doctor.Main.main(arguments, Terminal.isStandardError());
    }
  }

  private static boolean asksForHelp(String[] arguments) {
    List<String> all = Arrays.asList(arguments);
    return all.contains("--help") || all.contains("-h");
  }

  private static String[] after(String[] arguments) {
    return Arrays.copyOfRange(arguments, 1, arguments.length);
  }
}
