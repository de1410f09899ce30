package io.sluice.bench.report;

import io.sluice.bench.run.Engine;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** One-sided reads as Markdown: between two processes beside bare UCX, and within jobs beside Netty. */
final class ReadFigures {

  /** How near to bare UCX perftest is to come, and reads within a job to perftest. */
  private static final double OF_LIBRARY = 0.9;
  private static final double OF_PERFTEST = 0.7;
  private static final double GIB = 1 << 30;
  private static final double MEGA = 1e6;
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;
  private static final String TLS = "spark.executorEnv.UCX_TLS";

  private ReadFigures() {}

  /** A row per transport, size and number of reads under way. */
  static String perftest(PerftestResults results) {
    List<String> lines = new ArrayList<>(List.of(
        "| transport | size | reads under way | MB/s | bare UCX | times bare UCX | goal | | latency (bare) | "
            + "of the wire alone | CPU of the owner |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"));
    results.figures().forEach(figure -> lines.add(row(figure)));
    return String.join("\n", lines) + "\n\n" + setup(results.environment());
  }

  private static String row(PerftestResults.Figure figure) {
    Optional<Double> ratio = Optional.ofNullable(figure.ratioVsLibrary());
    return MarkdownFigures.row(figure.transport(), size(figure.size()),
        figure.gets() == null ? "window of " + figure.window() : figure.gets().toString(), whole(figure.mbPerS()),
        Optional.ofNullable(figure.libraryMbPerS()).map(ReadFigures::whole).orElse(""),
        ratio.map(value -> "**" + hundredths(value) + "**").orElse(""), ratio.isPresent() ? hundredths(OF_LIBRARY) : "",
        ratio.map(value -> verdict(value, OF_LIBRARY)).orElse(""),
        String.format(Locale.ROOT, "%.1f us", figure.latencyUs()) + Optional.ofNullable(figure.libraryLatencyUs())
            .map(bare -> String.format(Locale.ROOT, " (%.1f)", bare)).orElse(""),
        Optional.ofNullable(figure.ratioVsWire()).map(ReadFigures::hundredths).orElse(""),
        hundredths(figure.ownerCpu()));
  }

  /**
   * A row per engine of {@code jobs}.
   *
   * @param jobs results of the workload {@code remote-read}, of calls with one transport each
   * @param perftest what the same reads come to without Spark; null if that was not measured
   */
  static String inJobs(List<BenchResult> jobs, PerftestResults perftest) {
    List<String> lines = new ArrayList<>(List.of(
        "| transport | reads by | MB/s | of perftest's | goal | | CPU of the executors per GiB | of Netty's |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"));
    for (Comparison comparison : Comparison.of(jobs)) {
      comparison.results().forEach(result -> lines.add(row(comparison, result, perftest)));
    }
    return String.join("\n", lines) + "\n\n" + MarkdownFigures.setup(jobs);
  }

  private static String row(Comparison comparison, BenchResult result, PerftestResults perftest) {
    boolean netty = result.engine().equals(Engine.STOCK.label());
    String transport = transport(result.environment());
    Optional<Double> part = netty || perftest == null ? Optional.empty()
        : perftest.figures().stream().filter(figure -> figure.transport().equals(transport)).findFirst()
            .map(figure -> mbPerS(result) / figure.mbPerS());
    return MarkdownFigures.row(netty ? "" : transport, netty ? "Netty (stock)" : result.engine(),
        whole(mbPerS(result)), part.map(value -> "**" + hundredths(value) + "**").orElse(""),
        part.isPresent() ? hundredths(OF_PERFTEST) : "", part.map(value -> verdict(value, OF_PERFTEST)).orElse(""),
        String.format(Locale.ROOT, "%.3f s", cpuPerGib(result)),
        netty ? "" : comparison.stock().map(stock -> hundredths(cpuPerGib(result) / cpuPerGib(stock))).orElse(""));
  }

  private static double mbPerS(BenchResult result) {
    return result.shuffleReadBytes() / MEGA / result.fetchWaitS();
  }

  private static double cpuPerGib(BenchResult result) {
    return result.processCpuS() / (result.shuffleReadBytes() / GIB);
  }

  /** As perftest calls it: within a machine it is CMA unless the application forbids that. */
  private static String transport(Environment environment) {
    return environment.conf().getOrDefault(TLS, "").startsWith("tcp") ? "tcp" : "cma";
  }

  private static String setup(Environment environment) {
    return String.format(Locale.ROOT, "`%s`, medians of 3, on %s,\n%s, commit %s.", environment.command(),
        environment.machine(), environment.started().substring(0, "2026-01-01".length()),
        Optional.ofNullable(environment.commit()).orElse("?"));
  }

  private static String size(long bytes) {
    return bytes % MIB == 0 ? bytes / MIB + " MiB" : bytes % KIB == 0 ? bytes / KIB + " KiB" : bytes + " bytes";
  }

  private static String verdict(double value, double goal) {
    return value >= goal ? "met" : "not met";
  }

  private static String whole(double value) {
    return String.format(Locale.ROOT, "%,.0f", value);
  }

  private static String hundredths(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }
}
