package io.sluice.bench;

import io.sluice.bench.run.Applications;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Site;
import io.sluice.bench.run.SparkConfArguments;
import io.sluice.bench.run.SparkHome;
import io.sluice.bench.run.SparkSettings;
import io.sluice.bench.run.Workplace;
import io.sluice.bench.soak.Endurance;
import io.sluice.bench.soak.Room;
import io.sluice.bench.soak.Soak;
import io.sluice.bench.soak.SoakPlan;
import io.sluice.bench.soak.SoakPlan.Mode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./sluice soak}: random programs with random faults. */
@Command(name = "soak", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Runs random programs, SQL and RDDs, on stock Spark and on Sluice, does random harm to Sluice's "
        + "processes and files meanwhile, and compares the results. Stops at the first program that goes wrong, "
        + "makes it as short as it can and shows it. Exits with 1 if one did. Needs Linux.")
final class SoakCommand implements Callable<Integer> {

  private static final int FOREVER = 1_000_000;

  @Option(names = "--minutes", paramLabel = "N",
      description = "How long. Default: 10, unless --programs is given.") private Integer minutes;

  @Option(names = "--programs", paramLabel = "N", description = "How many programs.") private Integer programs;

  @Option(names = "--seed", paramLabel = "S",
      description = "Determines programs, faults and settings. Default: another one every time.") private Long seed;

  @Option(names = "--faults", split = ",", paramLabel = "FAULT",
      description = "The faults to choose from, see below. Default: all.") private List<String> faults;

  @Option(names = "--lasting",
      description = "One pair of applications for the whole time, and only faults that end no process; what they hold "
          + "is sampled after every tenth program, which is always the same, and drawn. Exits with 1 if memory, "
          + "threads, descriptors, mappings or files of Sluice's grow more than stock's, or if they "
          + "vary so much that nobody can tell.") private boolean lasting;

  @Option(names = "--each",
      description = "Every fault until it has done harm once, all with the same program, in applications whose "
          + "settings suit it. Exits with 1 if one never does.") private boolean each;

  @Option(names = "--profile", paramLabel = "NAME",
      description = "Settings of all applications: default (none), remote, ucx, rdma, cache-only, encrypted or "
          + "little-memory. "
          + "Default: what the seed determines, others for each. --conf goes before both.") private String profile;

  @Option(names = "--samples", paramLabel = "CSV",
      description = "Run nothing: draw these samples of a lasting soak in an SVG file beside them, and say which "
          + "figures grow.") private Path samples;

  @Option(names = "--no-rooms",
      description = "Leave out the faults that change the machine (links, disks, shared memory). They are done to "
          + "applications in namespaces of their own only, which needs root.") private boolean noRooms;

  @Option(names = "--patience", defaultValue = "180", paramLabel = "S",
      description = "Seconds after which a program counts as hung. Default: ${DEFAULT-VALUE}.") private int patience;

  @Option(names = "--executor-memory", defaultValue = "1024", paramLabel = "MIB",
      description = "Heap of each of the two executors. Default: ${DEFAULT-VALUE}.") private int memory;

  @Option(names = "--spark", defaultValue = "4.2.0", paramLabel = "VERSION",
      description = "Spark version, as 4.2.0, 3.5 or 3.5.8-2.13 (with Scala's). "
          + "Default: ${DEFAULT-VALUE}.") private String spark;

  @Option(names = "--conf", paramLabel = "KEY=VALUE",
      description = "A Spark setting for both engines; can be repeated.") private List<String> conf = List.of();

  @Spec private CommandSpec spec;

  /** Lists the faults below the options in the help text. */
  static void describeFaults(CommandSpec spec) {
    spec.usageMessage().footerHeading("%nFaults:%n");
    spec.usageMessage().footer(Soak.names().stream().map(name -> "  " + name).toArray(String[]::new));
  }

  @Override
  public Integer call() throws IOException {
    if (samples != null) {
      return judge();
    }
    long chosen = seed == null ? ThreadLocalRandom.current().nextLong(1_000_000) : seed;
    Map<String, String> settings;
    try {
      settings = new LinkedHashMap<>(SparkConfArguments.parse(conf));
      check();
      if (lasting) {
        settings.putIfAbsent("spark.executor.extraJavaOptions", SparkSettings.LOG_OPTION + " " + wholeHeap(memory));
      }
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    Workplace workplace = Workplace.current();
    SparkHome home = workplace.sparkHome(spark);
    Path folder = workplace.root().resolve("build/soak");
    boolean rooms = rooms(folder);
    Applications applications = new Applications(home, workplace, site(rooms ? Room.command(folder) : List.of()),
        settings);
    Soak soak;
    try {
      Mode mode = lasting ? Mode.LASTING : each ? Mode.EACH : Mode.RANDOM;
      SoakPlan plan =
          new SoakPlan(mode, rooms, faults, chosen, profile == null ? null : Soak.profile(profile), patience);
      soak = new Soak(applications, plan, folder, System.out);
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    System.out.println("Seed " + chosen + ", Spark " + home.sparkVersion());
    int most = programs == null ? Integer.MAX_VALUE : programs;
    int limit = minutes != null ? minutes : programs == null && !each ? 10 : FOREVER;
    boolean good = soak.run(most, Duration.ofMinutes(limit));
    if (!good) {
      System.out.println("The same again: ./sluice soak --seed " + chosen + " --spark " + spark
          + (lasting ? " --lasting" : each ? " --each" : "") + (profile == null ? "" : " --profile " + profile));
    }
    return good ? 0 : 1;
  }

  /**
   * Where applications run. Those of a lasting soak have all of their heaps from the beginning, so that what they take
   * later is no heap.
   */
  private Site site(List<String> command) {
    Master master = Master.parse("local-cluster[2,1]", memory);
    List<String> all = new ArrayList<>(command);
    if (lasting) {
      all.addAll(List.of("env", "JDK_JAVA_OPTIONS=" + wholeHeap(master.driverMemoryMib())));
    }
    return Site.of(master).startedBy(all);
  }

  private static String wholeHeap(int mib) {
    return "-Xms" + mib + "m -XX:+AlwaysPreTouch";
  }

  private int judge() throws IOException {
    try {
      Endurance endurance = Endurance.read(samples);
      Path picture = samples.resolveSibling(samples.getFileName().toString().replaceAll("\\.csv$", "") + ".svg");
      Files.writeString(picture, endurance.picture() + "\n");
      endurance.lines().forEach(spec.commandLine().getOut()::println);
      spec.commandLine().getOut().println("Picture: " + picture);
      return endurance.holds() ? 0 : 1;
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  /** Whether applications get namespaces of their own; says so if that was not the user's choice. */
  private boolean rooms(Path folder) {
    if (noRooms) {
      return false;
    }
    Optional<String> obstacle = Room.obstacle(folder);
    obstacle.ifPresent(reason -> System.out.println(
        "Without the faults of links, disks and shared memory: no namespaces can be had (" + reason + ")"));
    return obstacle.isEmpty();
  }

  private void check() {
    if (programs != null && programs < 1 || minutes != null && minutes < 1 || patience < 1) {
      throw new IllegalArgumentException("--minutes, --programs and --patience must be at least 1");
    }
    if (lasting && each) {
      throw new IllegalArgumentException("--lasting and --each exclude each other");
    }
    if (profile != null) {
      Soak.profile(profile);
    }
  }
}
