package io.sluice.bench;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Entry point of the command line; {@code ./sluice} calls it. */
@Command(name = "./sluice", subcommands = {BenchCommand.class, DemoCommand.class, ReportCommand.class,
  FiguresCommand.class, ProofCommand.class, SoakCommand.class})
public final class Main {

  private Main() {}

  /** Exits with 0, 1 (an engine failed or results differ) or 2 (wrong arguments). */
  public static void main(String[] arguments) {
    // Charts are drawn without a display, wherever this runs.
    System.setProperty("java.awt.headless", "true");
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    CommandLine commandLine = new CommandLine(new Main());
    BenchCommand.describeWorkloads(commandLine.getSubcommands().get("bench").getCommandSpec());
    SoakCommand.describeFaults(commandLine.getSubcommands().get("soak").getCommandSpec());
    FiguresCommand.describeParts(commandLine.getSubcommands().get("figures").getCommandSpec());
    commandLine.setExecutionExceptionHandler((failure, command, parsed) -> {
      command.getErr().println("error: " + failure.getMessage());
      if (System.getenv("SLUICE_DEBUG") != null) {
        failure.printStackTrace(command.getErr());
      }
      return 1;
    });
    return commandLine;
  }
}
