package io.sluice.bench;

import io.sluice.bench.page.ReportPage;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.Comparison;
import io.sluice.bench.report.FigurePart;
import io.sluice.bench.report.PerftestResults;
import io.sluice.bench.report.PublishedFigures;
import io.sluice.bench.report.ScaleFigures;
import io.sluice.bench.run.Workplace;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./sluice figures}: measures every published figure again and rewrites the pages that show them. */
@Command(name = "figures", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Measures every figure of README.md, docs/figures.md and bench/results again, part by part, and "
        + "rewrites the pages from the results. A part that fails keeps its earlier results. Needs a quiet machine.")
final class FiguresCommand implements Callable<Integer> {

  /** Pages with sections of figures, from the checkout's root. */
  static final List<String> PAGES = List.of("README.md", "docs/figures.md", "docs/peers.md", "docs/scale.md",
      "bench/results/README.md", "bench/results/partitions.md", "bench/results/driver.md", "bench/results/spilling.md",
      "bench/results/transport/locations.md", "bench/results/transport/networks.md",
      "bench/results/transport/reads.md");

  @Option(names = "--only", split = ",", paramLabel = "PART",
      description = "Only these parts, see below; networks is all of its parts. Those with names of other projects, "
          + "those of growth (partitions, driver, locations, remote-blocks, spilling-…) and, because they need root, "
          + "those of networks, denser-… and two-hosts are measured only if you name them.") private List<String> only;

  @Option(names = "--rewrite",
      description = "Measure nothing: rewrite the pages from the results that are there.") private boolean rewrite;

  @Spec private CommandSpec spec;

  /** Lists the parts below the options in the help text. */
  static void describeParts(CommandSpec spec) {
    spec.usageMessage().footerHeading("%nParts, with about how long they take on two quiet cores:%n");
    // Picocli takes the lines for formats.
    spec.usageMessage().footer(Arrays.stream(FigurePart.values())
        .map(part -> String.format(Locale.ROOT, "  %-20s %3d min  %s", part.label(), part.minutes(),
            part.what().replace("%", "%%")))
        .toArray(String[]::new));
  }

  @Override
  public Integer call() throws IOException {
    List<FigurePart> parts = parts();
    Path root = Workplace.current().root();
    List<String> failed = new ArrayList<>();
    for (FigurePart part : parts) {
      if (!measured(part, root)) {
        failed.add(part.label());
      }
      // After every part, so that a long measurement that is interrupted leaves pages that fit their results.
      rewritePages(root, spec.commandLine().getErr());
    }
    if (parts.isEmpty()) {
      rewritePages(root, spec.commandLine().getErr());
    }
    if (!failed.isEmpty()) {
      spec.commandLine().getErr().println("error: not measured: " + String.join(", ", failed) + " (see the messages "
          + "above; repeat with ./sluice figures --only " + String.join(",", failed) + ")");
    }
    return failed.isEmpty() ? 0 : 1;
  }

  private List<FigurePart> parts() {
    if (rewrite) {
      if (only != null) {
        throw new CommandLine.ParameterException(spec.commandLine(), "--rewrite measures nothing; leave out --only");
      }
      return List.of();
    }
    try {
      return only == null ? FigurePart.BY_DEFAULT : only.stream().flatMap(name -> FigurePart.named(name).stream())
          .distinct().toList();
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  /** Measures {@code part} into a file below build/, which replaces the earlier results if all went well. */
  private boolean measured(FigurePart part, Path root) throws IOException {
    Path fresh = root.resolve("build/figures").resolve(part.label() + ".json");
    Files.createDirectories(fresh.getParent());
    Files.deleteIfExists(fresh);
    List<String> arguments = new ArrayList<>(part.command());
    arguments.addAll(List.of("--json", root.relativize(fresh).toString()));
    spec.commandLine().getErr().printf(Locale.ROOT, "figures: %s: ./sluice %s (about %d min on two quiet cores)%n",
        part.label(), String.join(" ", arguments), part.minutes());
    arguments.set(arguments.size() - 1, fresh.toString());
    boolean done = part.isPerftests() ? perftest(arguments, fresh)
        : Main.commandLine().execute(arguments.toArray(String[]::new)) == 0;
    if (!done || !Files.exists(fresh)) {
      return false;
    }
    Path published = root.resolve("bench/results").resolve(part.file());
    Files.createDirectories(published.getParent());
    Files.move(fresh, published, StandardCopyOption.REPLACE_EXISTING);
    return true;
  }

  /** Runs {@code ./sluice perftest}, and adds to the results in {@code json} where they were measured. */
  private boolean perftest(List<String> arguments, Path json) throws IOException {
    try {
      spec.commandLine().getOut().println(Workplace.current().sluice("perftest did not end well", arguments));
    } catch (IllegalStateException e) {
      spec.commandLine().getErr().println("error: " + e.getMessage());
      return false;
    }
    // Without --json and its file, which is this machine's.
    List<String> command = arguments.subList(0, arguments.size() - 2);
    Files.writeString(json, Json.pretty(PerftestResults.of(json, command)) + "\n");
    return true;
  }

  /** Makes the pages of {@code root} from its results, and tells {@code messages} which have changed. */
  static void rewritePages(Path root, PrintWriter messages) throws IOException {
    Path results = root.resolve("bench/results");
    PublishedFigures figures = new PublishedFigures(results);
    for (String page : PAGES) {
      write(root.resolve(page), figures.rewritten(Files.readString(root.resolve(page))), messages);
    }
    write(results.resolve("times.svg"),
        ReportPage.times(Comparison.of(figures.results(List.of(FigurePart.RDD, FigurePart.SQL)))) + "\n", messages);
    write(results.resolve("report.html"), ReportPage.render(Comparison.of(figures.results(FigurePart.REPORTED))),
        messages);
    writePictures(root.resolve("docs/pictures"), figures, messages);
    for (FigurePart benchmark : List.of(FigurePart.TPCH, FigurePart.TPCDS)) {
      List<BenchResult> queries = figures.results(List.of(benchmark));
      if (!queries.isEmpty()) {
        write(results.resolve(benchmark.label() + ".html"), ReportPage.render(Comparison.of(queries)), messages);
      }
    }
  }

  private static void writePictures(Path folder, PublishedFigures figures, PrintWriter messages) throws IOException {
    for (String workload : ScaleFigures.WORKLOADS) {
      String picture = ScaleFigures.picture(part -> figures.results(List.of(part)), workload);
      if (!picture.isEmpty()) {
        write(folder.resolve("scale-" + workload + ".svg"), picture + "\n", messages);
      }
    }
  }

  private static void write(Path file, String text, PrintWriter messages) throws IOException {
    if (!Files.exists(file) || !Files.readString(file).equals(text)) {
      Files.writeString(file, text);
      messages.println("Wrote " + file);
    }
  }
}
