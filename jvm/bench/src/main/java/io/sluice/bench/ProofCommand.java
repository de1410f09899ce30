package io.sluice.bench;

import io.sluice.bench.report.FigureAge;
import io.sluice.bench.report.FigurePart;
import io.sluice.bench.report.PublishedFigures;
import io.sluice.bench.run.Workplace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code ./sluice proof}: where every published figure comes from, and how old it is. */
@Command(name = "proof", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Makes every table and chart of README.md, docs/figures.md and bench/results again from the results "
        + "that are there, and says which of them are older than the code that they measure. Measures nothing: that is "
        + "./sluice figures.")
final class ProofCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException {
    Path root = Workplace.current().root();
    FiguresCommand.rewritePages(root, spec.commandLine().getErr());
    PublishedFigures figures = new PublishedFigures(root.resolve("bench/results"));
    spec.commandLine().getOut().printf("%-36s %-10s  %-10s%n", "bench/results/", "measured", "commit");
    for (FigurePart part : FigurePart.values()) {
      spec.commandLine().getOut().println(FigureAge.of(part, figures.environments(part), root).line());
    }
    return 0;
  }
}
