package io.sluice.doctor;

import io.sluice.doctor.host.LocalHost;
import io.sluice.doctor.perftest.PerfTest;
import io.sluice.doctor.report.JsonReport;
import io.sluice.doctor.report.Report;
import io.sluice.doctor.report.TextReport;
import java.io.PrintStream;
import java.io.UnsupportedEncodingException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * {@code java -jar sluice-VERSION.jar}: prints the jar's version and usage; with {@code doctor}, checks whether Sluice
 * works on this machine, with {@code perftest}, whether it can read another's memory. The jar's own main class sends
 * these commands here.
 */
public final class Main {
  private static final int WRONG_ARGUMENTS = 2;

  private Main() {}

  /** @param terminal whether standard error is a terminal */
  public static void main(String[] arguments, boolean terminal) throws UnsupportedEncodingException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8.name());
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8.name());
    System.exit(run(List.of(arguments), out, err, terminal));
  }

  /** Returns the exit code: 0 usable, 1 not usable, 2 wrong arguments. */
  static int run(List<String> arguments, PrintStream out, PrintStream err, boolean terminal) {
    if (arguments.isEmpty() || List.of("help", "--help", "-h").contains(arguments.get(0))) {
      out.print(About.text(version(), jar()));
      return 0;
    }
    if (arguments.get(0).equals("perftest")) {
      return PerfTest.run(arguments.subList(1, arguments.size()), out, err);
    }
    if (!arguments.get(0).equals("doctor")) {
      err.println(
          "error: unknown command '" + arguments.get(0) + "'; there are: doctor, perftest, advise, report, conf");
      return WRONG_ARGUMENTS;
    }
    Options options;
    try {
      options = Options.parse(arguments.subList(1, arguments.size()));
    } catch (IllegalArgumentException e) {
      err.println("error: " + e.getMessage() + " (--help shows what there is)");
      return WRONG_ARGUMENTS;
    }
    return doctor(options, out, err, terminal);
  }

  private static int doctor(Options options, PrintStream out, PrintStream err, boolean terminal) {
    if (options.help()) {
      out.print(Options.HELP);
      return 0;
    }
    Report report;
    try (CheckProgress progress = CheckProgress.start(err, terminal, CheckProgress.QUIET_MILLIS)) {
      report = Doctor.examine(new LocalHost(), options, version(), jar(), progress);
    }
    out.print(options.json() ? JsonReport.render(report) : TextReport.render(report));
    return report.usable() ? 0 : 1;
  }

  private static String version() {
    return Optional.ofNullable(Main.class.getPackage().getImplementationVersion()).orElse("(unpackaged)");
  }

  private static String jar() {
    try {
      return Path.of(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    } catch (URISyntaxException | RuntimeException e) {
      return "/path/to/sluice.jar";
    }
  }
}
