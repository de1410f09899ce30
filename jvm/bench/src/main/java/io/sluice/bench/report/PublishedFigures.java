package io.sluice.bench.report;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Rewrites the sections of a Markdown page that are made from results, each of the form
 *
 * <pre>
 * &lt;!-- figures: NAME (…) --&gt;
 * …
 * &lt;!-- end of figures --&gt;
 * </pre>
 *
 * <p>so that no published figure is typed in by hand.
 */
public final class PublishedFigures {

  private static final Pattern SECTION =
      Pattern.compile("(<!-- figures: ([a-z0-9-]+)[^\\n]*-->\\n).*?(\\n<!-- end of figures -->)", Pattern.DOTALL);
  private static final Map<String, FigurePart> ONE_PART = Map.ofEntries(
      Map.entry("tpch", FigurePart.TPCH), Map.entry("tpcds", FigurePart.TPCDS), Map.entry("cold", FigurePart.COLD),
      Map.entry("modes", FigurePart.MODES), Map.entry("encryption", FigurePart.ENCRYPTION),
      Map.entry("demo", FigurePart.DEMO), Map.entry("goals-35", FigurePart.SPARK_35),
      Map.entry("tpch-35", FigurePart.TPCH_SPARK_35), Map.entry("peers", FigurePart.PEERS),
      Map.entry("peers-tpch", FigurePart.PEERS_TPCH), Map.entry("comet-tpch", FigurePart.COMET_TPCH),
      Map.entry("comet-exchange", FigurePart.COMET_EXCHANGE),
      Map.entry("partitions", FigurePart.PARTITIONS), Map.entry("driver", FigurePart.DRIVER),
      Map.entry("locations", FigurePart.LOCATIONS),
      Map.entry("denser-100mbit", FigurePart.DENSER_100MBIT), Map.entry("denser-1gbit", FigurePart.DENSER_1GBIT));
  private static final Map<String, Function<List<BenchResult>, String>> RENDERED = Map.ofEntries(
      Map.entry("tpch", MarkdownFigures::queries), Map.entry("tpcds", MarkdownFigures::queries),
      Map.entry("cold", MarkdownFigures::cold), Map.entry("modes", MarkdownFigures::modes),
      Map.entry("encryption", MarkdownFigures::modes),
      Map.entry("demo", results -> "```text\n" + DemoText.table(results) + "\n```\n\n"
          + MarkdownFigures.setup(results)),
      Map.entry("goals-35", MarkdownFigures::goalsOnSpark35), Map.entry("tpch-35", MarkdownFigures::queries),
      Map.entry("peers", PeerFigures::workloads), Map.entry("peers-tpch", PeerFigures::queries),
      Map.entry("comet-tpch", PeerFigures::queries), Map.entry("comet-exchange", PeerFigures::exchange),
      Map.entry("partitions", PartitionFigures::render), Map.entry("driver", DriverFigures::markdown),
      Map.entry("locations",
          results -> MarkdownFigures.modes(results) + "\n\n" + DriverFigures.markdown(results)),
      Map.entry("denser-100mbit", MarkdownFigures::modes), Map.entry("denser-1gbit", MarkdownFigures::modes));

  /** Of the model of clusters, which takes several parts. */
  private static final Map<String, Function<Function<FigurePart, List<BenchResult>>, String>> SCALE = Map.of(
      "scale-costs", ScaleFigures::costs, "scale-errors", ScaleFigures::errors,
      "scale-clusters", ScaleFigures::clusters);

  private final Path folder;

  /** Figures from the JSON files of every {@link FigurePart} below {@code folder}. */
  public PublishedFigures(Path folder) {
    this.folder = folder;
  }

  /**
   * {@code page} with every section as the results have it now.
   *
   * @throws IllegalArgumentException for a section of an unknown name, and one that does not end
   */
  public String rewritten(String page) {
    Matcher matcher = SECTION.matcher(page);
    StringBuilder result = new StringBuilder();
    int sections = 0;
    while (matcher.find()) {
      sections++;
      matcher.appendReplacement(result,
          Matcher.quoteReplacement(matcher.group(1) + section(matcher.group(2)) + matcher.group(3)));
    }
    if (sections != page.split("<!-- figures: ", -1).length - 1) {
      throw new IllegalArgumentException("a section of figures has no line <!-- end of figures -->");
    }
    return matcher.appendTail(result).toString();
  }

  /** The results of {@code parts}, without those that were never measured. */
  public List<BenchResult> results(List<FigurePart> parts) {
    return parts.stream().map(part -> folder.resolve(part.file())).filter(Files::exists)
        .flatMap(file -> ResultFile.read(file).stream()).toList();
  }

  /** Of those parts that were measured, and which were not. */
  private String spilling() {
    FigurePart[] missing = FigurePart.SPILLING.stream().filter(part -> results(List.of(part)).isEmpty())
        .toArray(FigurePart[]::new);
    if (missing.length == FigurePart.SPILLING.size()) {
      return notMeasured(missing);
    }
    return SpillFigures.render(results(FigurePart.SPILLING))
        + (missing.length == 0 ? "" : "\n\n" + notMeasured(missing));
  }

  private String section(String name) {
    if (name.equals("workloads")) {
      return MarkdownFigures.workloads(results(FigurePart.WORKLOADS));
    }
    if (name.equals("goals")) {
      return MarkdownFigures.goals(results(FigurePart.REPORTED));
    }
    if (name.equals("spilling")) {
      return spilling();
    }
    if (name.equals(FigurePart.NETWORKS_LABEL)) {
      return NetworkFigures.table(part -> results(List.of(part)));
    }
    if (name.equals("perftest") || name.equals("perftest-jobs")) {
      FigurePart part = FigurePart.named(name).get(0);
      return perftest(part).map(ReadFigures::perftest).orElse(notMeasured(part));
    }
    if (name.equals("reads")) {
      List<BenchResult> jobs = results(List.of(FigurePart.READS, FigurePart.READS_TCP));
      return jobs.isEmpty() ? notMeasured(FigurePart.PERFTEST_JOBS, FigurePart.READS, FigurePart.READS_TCP)
          : ReadFigures.inJobs(jobs, perftest(FigurePart.PERFTEST_JOBS).orElse(null));
    }
    if (SCALE.containsKey(name)) {
      List<FigurePart> missing = ScaleFigures.missing(part -> results(List.of(part)));
      return missing.isEmpty() ? SCALE.get(name).apply(part -> results(List.of(part)))
          : notMeasured(missing.toArray(FigurePart[]::new));
    }
    FigurePart part = ONE_PART.get(name);
    if (part == null) {
      throw new IllegalArgumentException("there is no section of figures called '" + name + "'");
    }
    List<BenchResult> results = results(List.of(part));
    return results.isEmpty() ? notMeasured(part) : RENDERED.get(name).apply(results);
  }

  static String notMeasured(FigurePart... parts) {
    return "Not measured yet: `./sluice figures --only "
        + Arrays.stream(parts).map(FigurePart::label).collect(Collectors.joining(",")) + "`.";
  }

  private Optional<PerftestResults> perftest(FigurePart part) {
    return Optional.of(folder.resolve(part.file())).filter(Files::exists).map(PerftestResults::read);
  }

  /** Where and how {@code part} was measured; none if it never was. */
  public List<Environment> environments(FigurePart part) {
    return part.isPerftests() ? perftest(part).map(PerftestResults::environment).stream().toList()
        : results(List.of(part)).stream().map(BenchResult::environment).toList();
  }
}
