package io.sluice.bench;

import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.DemoText;
import io.sluice.bench.report.Environment;
import io.sluice.bench.report.Verdict;
import io.sluice.bench.run.Applications;
import io.sluice.bench.run.Cluster;
import io.sluice.bench.run.DataSize;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Experiment;
import io.sluice.bench.run.Hosts;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Site;
import io.sluice.bench.run.SparkHome;
import io.sluice.bench.run.Workplace;
import io.sluice.bench.workload.Sizing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./sluice demo}: three jobs that people know, each in turn on Spark's shuffle and on Sluice. */
@Command(name = "demo", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Runs a TeraSort on RDDs, a repartition of a DataFrame and a join, each in turn on Spark's own "
        + "shuffle and on Sluice, compares the outputs and ends with one table. Exits with 1 if outputs differ.")
final class DemoCommand implements Callable<Integer> {

  private static final List<String> JOBS = List.of("terasort", "repartition", "join");
  private static final int EXECUTOR_MIB = 2048;
  private static final List<Engine> ENGINES = List.of(Engine.STOCK, Engine.SLUICE);
  /** The untimed job that yields the output to compare is the only warm-up. */
  private static final int WARM_UPS = 0;
  private static final int RUNS = 2;

  @Option(names = "--size", defaultValue = "500m", paramLabel = "SIZE",
      description = "Bytes of every job's input, as 100m or 2g. Default: ${DEFAULT-VALUE}.") private String size;

  @Option(names = "--spark", defaultValue = "4.2.0", paramLabel = "VERSION",
      description = "Spark version, as 4.2.0, 3.5 or 3.5.8-2.13 (with Scala's). "
          + "Default: ${DEFAULT-VALUE}.") private String spark;

  @Option(names = "--json", paramLabel = "FILE",
      description = "Write the results to FILE, as bench does.") private Path json;

  @Mixin private ClusterOptions clusterOptions;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException {
    long bytes = bytes();
    Hosts hosts = hosts();
    Workplace workplace = Workplace.current();
    SparkHome home = workplace.sparkHome(spark);
    try (Cluster cluster = hosts == null ? null
        : Cluster.up(hosts, ENGINES.size(), EXECUTOR_MIB, EXECUTOR_MIB, home, workplace)) {
      Site site = cluster == null ? Site.of(Master.parse("local-cluster[2,1]", EXECUTOR_MIB)) : cluster.site();
      return run(bytes, site, home, workplace);
    }
  }

  private int run(long bytes, Site site, SparkHome home, Workplace workplace) throws IOException {
    Environment environment = Environment.here(spec.commandLine().getParent().getParseResult().originalArgs(), site,
        Map.of(), Sizing.DEFAULT_MAPS, 0, null);
    System.out.println(DemoText.introduction(JOBS, bytes, home.sparkVersion(), site));
    List<BenchResult> results = new ArrayList<>();
    try (Applications.Running running = new Applications(home, workplace, site, Map.of()).startAll(ENGINES)) {
      Experiment experiment = new Experiment(running.all(), WARM_UPS, RUNS);
      for (String job : JOBS) {
        Sizing sizing = new Sizing(rows(job, bytes), Sizing.DEFAULT_MAPS, 0);
        results.addAll(BenchResult.of(job, home.sparkVersion(), sizing.rows(), experiment.run(job, sizing),
            environment));
      }
    }
    return report(results);
  }

  private int report(List<BenchResult> results) throws IOException {
    System.out.println(DemoText.table(results));
    if (json != null) {
      Files.writeString(json, Json.pretty(results) + "\n");
    }
    List<String> faults = JOBS.stream().flatMap(job -> Verdict.faults(
        results.stream().filter(result -> result.workload().equals(job)).toList()).stream()).toList();
    faults.forEach(fault -> System.err.println("error: " + fault));
    return faults.isEmpty() ? 0 : 1;
  }

  private long bytes() {
    try {
      return DataSize.parse(size).bytes();
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  /** Null for executors of this host. */
  private Hosts hosts() {
    try {
      return clusterOptions.hosts(null, Map.of());
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  private static long rows(String job, long bytes) {
    return Math.max(1, bytes / Catalogue.find(job).rowBytes());
  }
}
