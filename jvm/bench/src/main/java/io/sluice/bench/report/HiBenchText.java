package io.sluice.bench.report;

import io.sluice.bench.catalogue.Catalogue;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Results as the lines of HiBench's {@code report/hibench.report}, one per workload and engine. HiBench's names
 * are used where it has the workload; the duration is the median run, the date that of the benchmark's start
 * (UTC), and the size of the input an estimate from its rows.
 */
public final class HiBenchText {

  private static final String COLUMNS = "%-28s %-10s %-8s %-20s %-20s %-20s %-20s";
  private static final Map<String, String> HIBENCH_NAMES = Map.of("terasort", "Terasort", "sort-rdd", "Sort",
      "wordcount", "Wordcount", "pagerank", "Pagerank", "join", "Join", "aggregate", "Aggregation");
  private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("yyyy-MM-dd").withZone(ZoneOffset.UTC);
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss").withZone(ZoneOffset.UTC);
  private static final Pattern EXECUTORS = Pattern.compile("local-cluster\\[(\\d+),.*");

  private HiBenchText() {}

  /**
   * The header and a line per result.
   *
   * @throws IllegalArgumentException for a workload that the catalogue does not have
   */
  public static String render(List<BenchResult> results) {
    StringBuilder text = new StringBuilder(line("Type", "Date", "Time", "Input_data_size", "Duration(s)",
        "Throughput(bytes/s)", "Throughput/node"));
    results.forEach(result -> text.append('\n').append(line(result)));
    return text.toString();
  }

  private static String line(BenchResult result) {
    long bytes = result.rows() * Catalogue.find(result.workload()).rowBytes();
    double throughput = bytes / result.medianS();
    Instant started = Instant.parse(result.environment().started());
    return line(type(result), DATE.format(started), TIME.format(started), Long.toString(bytes),
        String.format(Locale.ROOT, "%.3f", result.medianS()), Long.toString((long) throughput),
        Long.toString((long) (throughput / nodes(result.environment()))));
  }

  private static String type(BenchResult result) {
    String engine = result.engine().equals("stock") ? "Spark" : camelCase(result.engine());
    return "Java" + engine + HIBENCH_NAMES.getOrDefault(result.workload(), camelCase(result.workload()));
  }

  private static String camelCase(String name) {
    StringBuilder camel = new StringBuilder();
    for (String word : name.split("-")) {
      camel.append(capitalized(word));
    }
    return camel.toString();
  }

  private static String capitalized(String word) {
    return word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1);
  }

  /** Executors of a {@code local-cluster} count as nodes; how many nodes another master has is not known. */
  private static int nodes(Environment environment) {
    if (environment.hosts() != null) {
      return environment.hosts().workers();
    }
    Matcher matcher = EXECUTORS.matcher(environment.master());
    return matcher.matches() ? Math.max(1, Integer.parseInt(matcher.group(1))) : 1;
  }

  private static String line(Object... cells) {
    return String.format(Locale.ROOT, COLUMNS, cells).stripTrailing();
  }
}
