package io.sluice.bench;

import io.sluice.bench.page.ReportPage;
import io.sluice.bench.protocol.JobTimes;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.report.AccountingText;
import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.BenchTableText;
import io.sluice.bench.report.BuildsText;
import io.sluice.bench.report.Comparison;
import io.sluice.bench.report.DriverFigures;
import io.sluice.bench.report.Environment;
import io.sluice.bench.report.JobPotential;
import io.sluice.bench.report.PotentialText;
import io.sluice.bench.report.BenchmarkSummary;
import io.sluice.bench.report.Verdict;
import io.sluice.bench.run.Applications;
import io.sluice.bench.run.Cluster;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.EngineFailure;
import io.sluice.bench.run.Experiment;
import io.sluice.bench.run.FirstQueryExperiment;
import io.sluice.bench.run.Hosts;
import io.sluice.bench.run.JobRun;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.run.Peer;
import io.sluice.bench.run.Peers;
import io.sluice.bench.run.SeparateExperiment;
import io.sluice.bench.run.Site;
import io.sluice.bench.run.Space;
import io.sluice.bench.run.SparkConfArguments;
import io.sluice.bench.run.SparkHome;
import io.sluice.bench.run.TableGeneration;
import io.sluice.bench.run.Workplace;
import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.TableFiles;
import io.sluice.bench.tables.TableForm;
import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.catalogue.Entry;
import io.sluice.bench.workload.Sizing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./sluice bench}: measures workloads on several engines in turn. */
@Command(name = "bench", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Measures workloads on several shuffle engines, run by run in turn. The first rounds warm the JVMs "
        + "up, and every engine's result is checksummed and compared. Exits with 1 if results differ.")
final class BenchCommand implements Callable<Integer> {

  /** Heap of one executor of local-cluster or --cluster, so that 10M rows are sorted without spilling. */
  private static final int EXECUTOR_MIB = 4096;
  private static final String DEFAULT_MASTER = "local-cluster[2,1]";
  private static final String DEFAULT_SPARK = "4.2.0";
  private static final long MIB = 1024 * 1024;
  private static final int RERUNS = 7;
  private static final int RERUN_WARM_UPS = 3;

  @Parameters(arity = "0..*", paramLabel = "WORKLOAD",
      description = "What to run: names from the list below; all is every one of it up to "
          + "sort-strings-spilling; a group's name means those above it.",
      completionCandidates = WorkloadNames.class) private List<String> workloads = List.of();

  @Option(names = "--engines", split = ",", paramLabel = "ENGINE",
      description = "Engines, separated by commas: stock, sluice, sluice-old (see --old-jar), sluice-ucx, "
          + "sluice-rdma, sluice-cache, sluice-unseen (without spark.sluice.ui.enabled), stock-encrypted and "
          + "sluice-encrypted (with spark.io.encryption.enabled), stock-zstd and sluice-zstd (with "
          + "spark.io.compression.codec=zstd; Sluice with spark.sluice.codec.level=small too), no-network; of other "
          + "projects, which then run on Spark " + Peer.SPARK + " unless you say --spark: comet, comet+sluice, "
          + "celeborn, uniffle, rapids, gluten (see docs/peers.md). Default: "
          + "stock,sluice.") private List<String> engines;

  @Option(names = "--old-jar", paramLabel = "JAR",
      description = "Another build of Sluice, the jar of the engine sluice-old, so that two builds are compared run by "
          + "run.") private Path oldJar;

  @Mixin private PeerOptions peerOptions;

  @Option(names = "--potential",
      description = "What could a faster network give at most? Adds the engine no-network, which is stock with "
          + "blocks of the own executor in place of remote ones, and a chart in build/potential.svg. With --class or "
          + "--sql: runs that program once on stock and predicts what it would take if bytes, the network or the whole "
          + "shuffle cost nothing.") private boolean potential;

  @Mixin private JobOptions job;

  @Option(names = "--check",
      description = "Measure nothing: only compare the engines' results.") private boolean check;

  @Option(names = "--runs", defaultValue = "5", paramLabel = "N",
      description = "Counted runs. Default: ${DEFAULT-VALUE}.") private int runs;

  @Option(names = "--warmups", defaultValue = "3", paramLabel = "N",
      description = "Runs before them that are not counted. Default: ${DEFAULT-VALUE}.") private int warmUps;

  @Option(names = "--rerun-below",
      description = "Measure again, with at least " + RERUNS + " runs after " + RERUN_WARM_UPS + " warm-ups, the "
          + "workloads in which Sluice was slower than their floors permit. Both results are in --json, the second "
          + "one counts.") private boolean rerunBelow;

  @Option(names = "--rows", paramLabel = "N",
      description = "Rows of the generated data. Default: the workload's own, see below.") private Long rows;

  @Option(names = "--scale", defaultValue = "1", paramLabel = "F",
      description = "Scale factor of TPC-H's and TPC-DS's tables: 1 is about a gigabyte of text. They are made once "
          + "and kept in build/tpch and build/tpcds. Default: ${DEFAULT-VALUE}.") private double scale;

  @Option(names = "--tables", defaultValue = "plain", paramLabel = "FORM",
      description = "How TPC-DS's tables are laid out: plain, partitioned (large ones by day, for dynamic partition "
          + "pruning), bucketed (large ones by item), or cbo (plain, with statistics of all columns in Spark's catalog "
          + "and plans by cost). Default: ${DEFAULT-VALUE}.") private String form;

  @Option(names = "--maps", defaultValue = "" + Sizing.DEFAULT_MAPS, paramLabel = "N",
      description = "Partitions of the generated data. Default: ${DEFAULT-VALUE}.") private int maps;

  @Option(names = "--partitions", defaultValue = "0", paramLabel = "N",
      description = "Shuffle partitions. Default: the workload's own (200 for repartition, 16 for pagerank, Spark's "
          + "default for tpch and tpcds, else 64).") private int partitions;

  @Option(names = "--spark", paramLabel = "VERSION",
      description = "Spark version, as 4.2.0, 3.5 or 3.5.8-2.13 (with Scala's). Default: " + DEFAULT_SPARK + ", and "
          + Peer.SPARK + " with engines of other projects.") private String spark;

  @Option(names = "--master", paramLabel = "MASTER",
      description = "Spark master; executors of local-cluster[N,CORES] get a heap of 4096 MiB. "
          + "Default: " + DEFAULT_MASTER + ".") private String master;

  @Mixin private ClusterOptions clusterOptions;

  @Option(names = "--away", paramLabel = "HOST=SECONDS",
      description = "One host of the cluster that is cut off in the middle of every counted run, when a tenth of the "
          + "last stage's tasks have ended, and connected again after so long: w3=30s.") private String away;

  @Option(names = "--accounting",
      description = "Also prints, for every stage, how many nanoseconds a row the executors' task threads, encoding "
          + "and decoding, the compiler, the collector and the kernel took, and for what tasks waited. The driver gets "
          + "Spark's UI, because Sluice posts its figures of a stage for it.") private boolean accounting;

  @Option(names = "--conf", paramLabel = "KEY=VALUE",
      description = "A Spark setting for every engine; can be repeated.") private List<String> conf = List.of();

  @Option(names = "--event-logs", paramLabel = "DIR",
      description = "Every engine's applications write event logs to DIR. ./sluice advise --measured compares what it "
          + "predicts from stock's with what was measured.") private Path eventLogs;

  @Option(names = "--json", paramLabel = "FILE",
      description = "Write the results to FILE, one object per workload and engine.") private Path json;

  @Option(names = "--chart", paramLabel = "FILE",
      description = "Write a chart of the times to FILE, as SVG.") private Path chart;

  @Spec private CommandSpec spec;

  /** Lists the workloads below the options in the help text. */
  static void describeWorkloads(CommandSpec spec) {
    spec.usageMessage().footerHeading("%nWorkloads, with the rows they have by default:%n");
    List<String> lines = new ArrayList<>();
    Catalogue.entries().forEach(entry -> lines.add(workloadLine(entry.name(), entry.defaultRows(), entry.what())));
    new TreeMap<>(Catalogue.groups()).forEach((group, entries) -> {
      entries.forEach(entry -> lines.add(workloadLine(entry.name(), entry.defaultRows(), entry.what())));
      lines.add(String.format(Locale.ROOT, "  %-18s %11s  the %d above", group, "", entries.size()));
    });
    for (Benchmark benchmark : Benchmark.values()) {
      lines.add(workloadLine(benchmark.label(), benchmark.rows(1), String.format(Locale.ROOT,
          "%s's %d queries, or one: %s-q5 (--scale)", benchmark.title(), benchmark.queries().size(),
          benchmark.label())));
    }
    lines.addAll(List.of("",
        "Queries of tpch and tpcds are planned as Spark does it by default: adaptively, with",
        "broadcast joins, 200 shuffle partitions; cold-query too, whose every run is the first",
        "of a new application (--warmups does not apply). Other workloads have neither, and 64.",
        "What --conf and --partitions say goes before both. Those that end with -spilling have a",
        "quarter of the memory that they need, or less."));
    spec.usageMessage().footer(lines.toArray(String[]::new));
  }

  private static String workloadLine(String name, long rows, String what) {
    return String.format(Locale.ROOT, "  %-18s %,11d  %s", name, rows, what);
  }

  /** The names that the command line offers. */
  static final class WorkloadNames extends ArrayList<String> {
    private static final long serialVersionUID = 1L;

    WorkloadNames() {
      super(Catalogue.entries().stream().map(Entry::name).toList());
      addAll(Catalogue.groups().keySet());
      Arrays.stream(Benchmark.values()).forEach(benchmark -> add(benchmark.label()));
    }
  }

  @Override
  public Integer call() throws IOException {
    Plan plan;
    try {
      job.check(potential, workloads);
      if (workloads.isEmpty() && !job.given()) {
        throw new IllegalArgumentException(
            "Missing required parameter: WORKLOAD, or with --potential a program (--class, --sql)");
      }
      plan = plan();
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    if (eventLogs != null) {
      Files.createDirectories(eventLogs);
    }
    Workplace here = Workplace.current().with(plan.oldJar, plan.peers);
    if (potential && chart == null) {
      chart = here.root().resolve("build/potential.svg");
    }
    SparkHome home = here.sparkHome(sparkVersion(plan.engines));
    Workplace workplace;
    try {
      workplace = here.with(plan.oldJar, plan.peers.complete(plan.engines, home, here::peerJars));
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    try (Cluster cluster = plan.hosts == null ? null : clusterUp(plan, home, workplace)) {
      Site site = cluster == null ? onSameCores(Site.of(plan.master), plan.engines) : cluster.site();
      return job.given() ? predict(plan, home, workplace, site) : measure(plan, home, workplace, site);
    }
  }

  /** Runs the user's program and says what parts of its shuffles cost; returns the exit status. */
  private int predict(Plan plan, SparkHome home, Workplace workplace, Site site) throws IOException {
    JobTimes times;
    try {
      times = new JobRun(job.jars(), job.arguments(), plan.settings, job.minutes()).run(home, workplace, site);
    } catch (EngineFailure e) {
      System.err.println("error: " + e.getMessage());
      return 1;
    }
    boolean shared = site.hosts() != null || site.master().url().startsWith("local");
    JobPotential result = JobPotential.of(times, shared ? Runtime.getRuntime().availableProcessors() : 0);
    System.out.println(result.render());
    if (json != null) {
      Files.writeString(json, Json.pretty(result) + "\n");
    }
    return 0;
  }

  /**
   * What the arguments ask for.
   *
   * @param hosts null if {@code master} is to be used as it is
   * @param oldJar null without the engine {@code sluice-old}
   * @param peers what the user gave for engines of other projects
   * @param form of the tables that queries of benchmarks read
   */
  private record Plan(Map<String, Sizing> sizings, List<Engine> engines, Map<String, String> settings, Master master,
      Hosts hosts, Path oldJar, Peers peers, TableForm form) {}

  private Plan plan() {
    checkRounds();
    Map<String, String> settings = new LinkedHashMap<>(SparkConfArguments.parse(conf));
    TableForm tableForm = tableForm();
    tableForm.settings().forEach(settings::putIfAbsent);
    if (accounting) {
      AccountingText.SETTINGS.forEach(settings::putIfAbsent);
    }
    if (eventLogs != null) {
      settings.putIfAbsent("spark.eventLog.enabled", "true");
      settings.putIfAbsent("spark.eventLog.dir", eventLogs.toAbsolutePath().normalize().toUri().toString());
      settings.putIfAbsent("spark.eventLog.compress", "true");
    }
    Peers peers = peerOptions.given();
    List<Engine> chosen = PeerOptions.runnable(engines(), peers, spec.commandLine().getErr());
    peers.check(engines());
    Master parsed = Master.parse(master == null ? DEFAULT_MASTER : master, EXECUTOR_MIB);
    Hosts hosts = withAway(clusterOptions.hosts(master, settings), chosen);
    PeerOptions.checkMaster(chosen, parsed, hosts != null);
    PeerOptions.shared(chosen, parsed, EXECUTOR_MIB).forEach(settings::putIfAbsent);
    return new Plan(sizings(), chosen, settings, parsed, hosts, oldJar(), peers, tableForm);
  }

  private Hosts withAway(Hosts hosts, List<Engine> chosen) {
    if (away == null) {
      return hosts;
    }
    if (hosts == null) {
      throw new IllegalArgumentException("--away is for a host of --cluster");
    }
    if (check || rerunBelow || job.given()) {
      throw new IllegalArgumentException("--away is for workloads that are measured once; leave out --check, "
          + "--rerun-below and --potential with a program");
    }
    if (chosen.stream().anyMatch(engine -> engine.peer().isPresent())
        || sizings().keySet().stream().anyMatch(name -> Catalogue.find(name).fresh())) {
      throw new IllegalArgumentException("--away is for engines and workloads whose applications stay up: not for "
          + "those of other projects, nor for cold-query");
    }
    return hosts.withAway(away);
  }

  /** The version to run on; says so if it is another one than usual. */
  private String sparkVersion(List<Engine> chosen) {
    if (spark != null) {
      return spark;
    }
    String version = PeerOptions.spark(chosen, DEFAULT_SPARK);
    if (!version.equals(DEFAULT_SPARK)) {
      spec.commandLine().getErr().println("Spark " + version + ", which engines of other projects have a build for; "
          + "--spark chooses another.");
    }
    return version;
  }

  /**
   * With servers, an engine has more processes than executors. Where the machine has more cores than executors use, all
   * processes of each engine are kept to as many.
   */
  private static Site onSameCores(Site site, List<Engine> chosen) {
    int cores = site.master().cores().orElse(Integer.MAX_VALUE);
    return haveServers(chosen) && cores < Runtime.getRuntime().availableProcessors()
        ? site.startedBy(List.of("taskset", "--cpu-list", "0-" + (cores - 1))) : site;
  }

  private static boolean haveServers(List<Engine> chosen) {
    return chosen.stream().flatMap(engine -> engine.peer().stream()).anyMatch(Peer::hasServers);
  }

  private TableForm tableForm() {
    TableForm tableForm = TableForm.named(form);
    if (tableForm != TableForm.PLAIN && !workloads.stream().allMatch(name -> name.equals(Benchmark.TPCDS.label())
        || Benchmark.of(name).filter(Benchmark.TPCDS::equals).isPresent())) {
      throw new IllegalArgumentException("--tables " + form + " is for queries of TPC-DS alone");
    }
    return tableForm;
  }

  /** The jar of the engine {@code sluice-old}, where driver and executors find it from any folder; null without it. */
  private Path oldJar() {
    boolean wanted = engines().contains(Engine.SLUICE_OLD);
    if (wanted != (oldJar != null)) {
      throw new IllegalArgumentException(wanted ? "the engine sluice-old needs --old-jar JAR"
          : "--old-jar is for the engine sluice-old; add it to --engines");
    }
    if (wanted && !Files.isRegularFile(oldJar)) {
      throw new IllegalArgumentException("--old-jar " + oldJar + ": there is no such file");
    }
    return wanted ? oldJar.toAbsolutePath() : null;
  }

  private Cluster clusterUp(Plan plan, SparkHome home, Workplace workplace) {
    long memoryMib = Math.max(EXECUTOR_MIB, Environment.physicalMemory() / MIB);
    return Cluster.up(plan.hosts, job.given() ? 1 : plan.engines.size(), EXECUTOR_MIB, memoryMib, home, workplace);
  }

  private int measure(Plan plan, SparkHome home, Workplace workplace, Site site) throws IOException {
    Set<Benchmark> benchmarks = plan.sizings.keySet().stream().flatMap(name -> Benchmark.of(name).stream())
        .collect(Collectors.toCollection(LinkedHashSet::new));
    Environment environment = Environment.here(spec.commandLine().getParent().getParseResult().originalArgs(),
        site, plan.settings, maps, partitions, benchmarks.isEmpty() ? null : scale);
    TableGeneration generation = new TableGeneration(home, workplace, site, plan.settings);
    for (Benchmark benchmark : benchmarks) {
      List<String> queries = plan.sizings.keySet().stream()
          .filter(name -> benchmark.equals(Benchmark.of(name).orElse(null))).map(benchmark::query).toList();
      TableFiles tables = generation.tables(benchmark, scale, plan.form, queries);
      plan.sizings.replaceAll((name, sizing) -> benchmark.equals(Benchmark.of(name).orElse(null))
          ? sizing.reading(tables) : sizing);
    }
    boolean separate = separate(plan);
    checkSpace(plan, check && !separate ? plan.engines.size() : 1,
        site.localDir() == null ? workplace.run("x").getParent() : site.localDir());
    Applications applications = new Applications(home, workplace, site, plan.settings);
    return check ? compare(plan.sizings, applications, plan.engines, separate)
        : measure(plan.sizings, applications, plan.engines, environment, separate);
  }

  /** Whether engines cannot be up side by side. Says so. */
  private boolean separate(Plan plan) {
    boolean peers = plan.engines.stream().anyMatch(engine -> engine.peer().isPresent());
    String reason = haveServers(plan.engines) ? "some engines have servers"
        : peers && neededMemory(plan) > Environment.physicalMemory() ? String.format(Locale.ROOT,
            "side by side they may take %,d MiB, more than this machine has", neededMemory(plan) / MIB) : null;
    if (reason != null) {
      spec.commandLine().getErr().println("Every run of an engine has a new application, with " + warmUps
          + " runs before to warm up: " + reason + ".");
    }
    return reason != null;
  }

  /** What drivers and executors of all engines may take. */
  private static long neededMemory(Plan plan) {
    long executorMib = plan.master.executorMemoryMib().orElse(EXECUTOR_MIB);
    // With off-heap memory, which is half of it.
    long withOffHeap = plan.settings.containsKey(Peer.OFF_HEAP) ? executorMib + executorMib / 2 : executorMib;
    return MIB * plan.engines.size()
        * (plan.master.driverMemoryMib() + plan.master.executors().orElse(0) * withOffHeap);
  }

  /**
   * An engine's shuffle files are removed when its run is over, before another engine's begins.
   *
   * @param atOnce how many engines run at the same time, as they do where results are only compared
   */
  private static void checkSpace(Plan plan, int atOnce, Path localDir) {
    plan.sizings.forEach((name, sizing) -> Space.check(
        String.format(Locale.ROOT, "files of shuffles of %s with %,d rows", name, sizing.rows()),
        Catalogue.find(name).fileBytes(sizing.rows()) * atOnce, localDir));
  }

  private void checkRounds() {
    if (runs < 1) {
      throw new IllegalArgumentException("--runs must be at least 1");
    }
    if (warmUps < 0) {
      throw new IllegalArgumentException("--warmups must not be negative");
    }
  }

  /** The engines, in the order in which each round runs them. */
  private List<Engine> engines() {
    if (engines == null) {
      return potential ? List.of(Engine.STOCK, Engine.NO_NETWORK, Engine.SLUICE)
          : List.of(Engine.STOCK, Engine.SLUICE);
    }
    if (potential) {
      throw new IllegalArgumentException("--potential chooses the engines itself; leave out --engines");
    }
    return engines.stream().map(Engine::find).distinct().toList();
  }

  /** The chosen workloads and how large each is, in the order given. */
  private Map<String, Sizing> sizings() {
    TableFiles.checkScale(scale);
    Map<String, Sizing> sizings = new LinkedHashMap<>();
    workloads.stream().flatMap(name -> Catalogue.named(name).stream()).forEach(
        entry -> sizings.put(entry.name(), sizing(entry)));
    return sizings;
  }

  private Sizing sizing(Entry entry) {
    return new Sizing(rows == null ? entry.defaultRows() : rows, maps,
        partitions == 0 ? entry.partitions() : partitions);
  }

  /** Workloads that need new applications come first, so that no idle ones take processor time beside them. */
  private int measure(Map<String, Sizing> sizings, Applications applications, List<Engine> chosen,
      Environment environment, boolean separate) throws IOException {
    Outcome outcome = new Outcome(applications.home().sparkVersion(), environment);
    List<String> warm = sizings.keySet().stream().filter(name -> !Catalogue.find(name).fresh()).toList();
    FirstQueryExperiment first = new FirstQueryExperiment(chosen, applications, runs);
    for (String name : sizings.keySet()) {
      if (Catalogue.find(name).fresh()) {
        outcome.add(name, sizings.get(name), () -> first.run(name, sizings.get(name)));
      }
    }
    for (Map.Entry<Map<String, String>, List<String>> group : bySettings(some(sizings, warm)).entrySet()) {
      if (separate) {
        measureSeparately(sizings, group.getValue(), applications.with(group.getKey()), chosen, outcome);
        continue;
      }
      try (Applications.Running running = applications.with(group.getKey()).startAll(chosen)) {
        Experiment experiment = new Experiment(running.all(), warmUps, runs, applications.site().absence());
        for (String name : group.getValue()) {
          outcome.add(name, sizings.get(name), () -> experiment.run(name, sizings.get(name)));
        }
        if (rerunBelow) {
          Experiment again = new Experiment(running.all(), Math.max(warmUps, RERUN_WARM_UPS), Math.max(runs, RERUNS));
          for (String name : outcome.below(group.getValue())) {
            outcome.add(name, sizings.get(name), () -> again.run(name, sizings.get(name)));
          }
        }
      } catch (EngineFailure e) {
        outcome.faults.add(String.join(", ", group.getValue()) + ": " + e.getMessage());
      }
    }
    return outcome.report();
  }

  private void measureSeparately(Map<String, Sizing> sizings, List<String> names, Applications applications,
      List<Engine> chosen, Outcome outcome) throws IOException {
    addAll(sizings, new SeparateExperiment(chosen, applications, warmUps, runs, outcome.faults::add)
        .run(some(sizings, names)), outcome);
    List<String> below = rerunBelow ? outcome.below(names) : List.of();
    if (!below.isEmpty()) {
      addAll(sizings, new SeparateExperiment(chosen, applications, Math.max(warmUps, RERUN_WARM_UPS),
          Math.max(runs, RERUNS), outcome.faults::add).run(some(sizings, below)), outcome);
    }
  }

  private static void addAll(Map<String, Sizing> sizings, Map<String, List<Measurement>> measurements, Outcome outcome)
      throws IOException {
    for (Map.Entry<String, List<Measurement>> each : measurements.entrySet()) {
      outcome.add(each.getKey(), sizings.get(each.getKey()), each::getValue);
    }
  }

  private static Map<String, Sizing> some(Map<String, Sizing> sizings, List<String> names) {
    Map<String, Sizing> some = new LinkedHashMap<>();
    names.forEach(name -> some.put(name, sizings.get(name)));
    return some;
  }

  /** Runs every workload once on every engine; returns the exit status. */
  private static int compare(Map<String, Sizing> sizings, Applications applications, List<Engine> chosen,
      boolean separate) {
    List<String> faults = new ArrayList<>();
    for (Map.Entry<Map<String, String>, List<String>> group : bySettings(sizings).entrySet()) {
      if (separate) {
        new SeparateExperiment(chosen, applications.with(group.getKey()), 0, 0, faults::add)
            .digests(some(sizings, group.getValue()))
            .forEach((name, digests) -> Verdict.difference(name, digests).ifPresent(faults::add));
        continue;
      }
      try (Applications.Running running = applications.with(group.getKey()).startAll(chosen)) {
        Experiment once = new Experiment(running.all(), 0, 0);
        for (String name : group.getValue()) {
          try {
            Verdict.difference(name, once.digests(name, sizings.get(name))).ifPresent(faults::add);
          } catch (EngineFailure e) {
            faults.add(name + ": " + e.getMessage());
          }
        }
      } catch (EngineFailure e) {
        faults.add(String.join(", ", group.getValue()) + ": " + e.getMessage());
      }
    }
    faults.forEach(fault -> System.err.println("error: " + fault));
    if (faults.isEmpty()) {
      System.out.printf(Locale.ROOT, "%d workloads: the results of %s are equal.%n", sizings.size(),
          chosen.stream().map(Engine::label).collect(Collectors.joining(" and ")));
    }
    return faults.isEmpty() ? 0 : 1;
  }

  /** Workloads that share applications, by what these need to be set. */
  private static Map<Map<String, String>, List<String>> bySettings(Map<String, Sizing> workloads) {
    return workloads.keySet().stream().collect(Collectors.groupingBy(
        name -> Catalogue.find(name).settings(workloads.get(name).rows()), LinkedHashMap::new, Collectors.toList()));
  }

  /** The results so far, written after every workload, so that an interrupted benchmark keeps them. */
  private final class Outcome {
    private final String spark;
    private final Environment environment;
    private final List<BenchResult> results = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();

    Outcome(String spark, Environment environment) {
      this.spark = spark;
      this.environment = environment;
    }

    void add(String workload, Sizing sizing, Supplier<List<Measurement>> experiment) throws IOException {
      try {
        Environment here = environment.with(Catalogue.find(workload).settings(sizing.rows()), sizing.partitions());
        List<BenchResult> first = results.stream().filter(result -> result.workload().equals(workload)).toList();
        List<BenchResult> one = BenchResult.of(workload, spark, sizing.rows(), experiment.get(), here, first);
        results.addAll(one);
        faults.addAll(Verdict.faults(one));
        if (json != null) {
          Files.writeString(json, Json.pretty(results) + "\n");
        }
      } catch (EngineFailure e) {
        faults.add(workload + ": " + e.getMessage());
      }
    }

    /** Those of {@code workloads} in which Sluice is slower than it may be. */
    List<String> below(List<String> workloads) {
      return results.stream().filter(BenchResult::belowFloor).map(BenchResult::workload).filter(workloads::contains)
          .distinct().toList();
    }

    /** Prints the results, warnings and errors; returns the exit status. */
    int report() throws IOException {
      if (!results.isEmpty()) {
        show(results);
      }
      Verdict.belowFloor(results).forEach(sentence -> System.err.println("warning: " + sentence));
      faults.forEach(fault -> System.err.println("error: " + fault));
      return faults.isEmpty() ? 0 : 1;
    }
  }

  private void show(List<BenchResult> results) throws IOException {
    List<Comparison> comparisons = Comparison.of(results);
    System.out.println(BenchTableText.render(comparisons.stream().flatMap(each -> each.results().stream()).toList()));
    BenchmarkSummary.of(comparisons)
        .forEach(queries -> System.out.println("\n" + queries.title() + "\n" + String.join("\n", queries.sentences())));
    BuildsText.render(comparisons).ifPresent(text -> System.out.println("\n" + text));
    String driver = DriverFigures.render(results);
    if (!driver.isEmpty()) {
      System.out.println("\n" + driver);
    }
    if (accounting) {
      System.out.println("\n" + AccountingText.render(results));
    }
    if (potential) {
      System.out.println("\n" + PotentialText.render(comparisons));
    }
    if (chart != null) {
      Files.writeString(chart, ReportPage.times(comparisons) + "\n");
      System.err.println("Wrote " + chart);
    }
  }
}
