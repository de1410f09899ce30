package io.sluice.bench;

import io.sluice.bench.page.ReportPage;
import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.Comparison;
import io.sluice.bench.report.HiBenchText;
import io.sluice.bench.report.ResultFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./sluice report}: makes an HTML page of what {@code ./sluice bench} has measured. */
@Command(name = "report", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Makes one HTML page with charts from results that bench wrote with --json; or prints them as "
        + "HiBench does.")
final class ReportCommand implements Callable<Integer> {

  @Parameters(arity = "1..*", paramLabel = "RESULTS",
      description = "JSON files of ./sluice bench --json.") private List<Path> files;

  @Option(names = {"-o", "--output"}, paramLabel = "FILE",
      description = "Where the page goes. "
          + "Default: report.html, unless another output is asked for.") private Path output;

  @Option(names = "--chart", paramLabel = "FILE",
      description = "Write the chart of times alone to FILE, as SVG.") private Path chart;

  @Option(names = "--hibench-format",
      description = "Print the results as the lines of HiBench's report/hibench.report.") private boolean hibench;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException {
    List<BenchResult> results = new ArrayList<>();
    try {
      files.forEach(file -> results.addAll(ResultFile.read(file)));
      if (hibench) {
        spec.commandLine().getOut().println(HiBenchText.render(results));
      }
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    List<Comparison> comparisons = Comparison.of(results);
    if (chart != null) {
      write(chart, ReportPage.times(comparisons) + "\n");
    }
    if (output != null || chart == null && !hibench) {
      write(output == null ? Path.of("report.html") : output, ReportPage.render(comparisons));
    }
    return 0;
  }

  private void write(Path file, String text) throws IOException {
    if (file.toAbsolutePath().getParent() != null) {
      Files.createDirectories(file.toAbsolutePath().getParent());
    }
    Files.writeString(file, text);
    spec.commandLine().getErr().println("Wrote " + file);
  }
}
