package io.sluice.bench.soak;

import io.sluice.bench.check.Digest;
import io.sluice.bench.run.Application;
import io.sluice.bench.run.Applications;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.EngineFailure;
import io.sluice.bench.soak.SoakPlan.Mode;
import io.sluice.bench.workload.Sizing;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Runs random programs on stock and on Sluice, one after the other, does something to Sluice's application meanwhile,
 * and compares the results. After {@link #PROGRAMS_PER_APPLICATION} programs both engines get new applications with
 * other settings, but for a lasting soak: its applications stay, and after every {@link #COMPARED_EVERY}th program,
 * which is always the same, it writes down what their processes hold.
 */
public final class Soak {

  static final int PROGRAMS_PER_APPLICATION = 25;

  static final int COMPARED_EVERY = 10;

  /** The program that is always the same: of some that every Spark can run, the longest. */
  private static final SoakProgram COMPARED = LongStream.range(0, 12).mapToObj(SoakProgram::of)
      .filter(SoakProgram::sql).max(Comparator.comparing(SoakProgram::steps)).orElseThrow();
  private static final int COMPARED_ROWS = 100_000;
  /** Spark's cleaner needs a moment after a collection to remove what it has found. */
  private static final long CLEANER_MS = 3_000;

  /** How often a fault is tried that finds nothing to harm, where each is to harm once. */
  private static final int TRIES = 8;
  /** Rows of its program then, and of that in which something must spill. */
  private static final int EACH_ROWS = 20_000;
  private static final int SPILLED_ROWS = 300_000;

  private static final int[] ROWS = {1, 7, 1_000, 20_000, 100_000, 300_000};

  private final Applications applications;
  private final SoakPlan plan;
  private final List<Fault> faults;
  private final Dice dice;
  private final Path folder;
  private final PrintStream out;
  private final Map<Fault, Count> outcomes = new EnumMap<>(Fault.class);
  private final long start = System.nanoTime();
  private int programs;
  private int unanswered;
  private int application;
  /** Where each fault is to harm once: the one whose turn it is, and how often it was tried. */
  private int turn;
  private int tries;
  private volatile boolean interrupted;

  /** A program that is run next, with what its random decisions are made by. */
  private record Work(SoakProgram program, int rows, Fault fault, Dice dice) {}

  /** Programs during which a fault was done: of which the result was equal, which failed, and which it did not harm. */
  private static final class Count {
    private int equal;
    private int failed;
    private int missed;

    private boolean hit() {
      return equal + failed > missed;
    }
  }

  /**
   * @param applications how applications are started; settings of profiles are added
   * @param folder where samples and stacks are written
   * @param out what happens, a line per program
   * @throws IllegalArgumentException naming a fault that is unknown or cannot be done as planned
   */
  public Soak(Applications applications, SoakPlan plan, Path folder, PrintStream out) {
    this.applications = applications;
    this.plan = plan;
    Stream<Fault> wanted = plan.faults() == null
        ? Stream.of(Fault.values()).filter(this::possible)
            .filter(fault -> plan.mode() != Mode.EACH || fault != Fault.NONE)
        : plan.faults().stream().map(Soak::fault);
    // Those that need the same settings after each other.
    this.faults = plan.mode() == Mode.EACH
        ? wanted.sorted(Comparator.comparing(fault -> fault.settings().toString())).toList() : wanted.toList();
    this.faults.stream().filter(fault -> fault.inRoom() && !plan.rooms()).findFirst().ifPresent(fault -> {
      throw new IllegalArgumentException("the fault " + fault.label() + " changes the machine and is only done to "
          + "applications in namespaces of their own, which were not asked for or cannot be had here");
    });
    this.faults.stream().filter(fault -> !possible(fault)).findFirst().ifPresent(fault -> {
      throw new IllegalArgumentException("the fault " + fault.label() + " can end processes, and those of a lasting "
          + "soak must live on: leave it out");
    });
    this.dice = new Dice(plan.seed());
    this.folder = folder;
    this.out = out;
  }

  private boolean possible(Fault fault) {
    return (plan.rooms() || !fault.inRoom()) && (plan.mode() != Mode.LASTING || fault.sparesProcesses());
  }

  /** The settings of the profile called {@code name}. */
  public static Map<String, String> profile(String name) {
    return Profile.named(name);
  }

  private static Fault fault(String name) {
    try {
      return Fault.valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_'));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("unknown fault '" + name + "'; known are " + String.join(", ", names()), e);
    }
  }

  /** Every fault's name on the command line. */
  public static List<String> names() {
    return Stream.of(Fault.values()).map(Fault::label).toList();
  }

  /** Runs at most {@code most} programs for about as long as {@code time}; returns whether all went as they must. */
  public boolean run(int most, Duration time) throws IOException {
    BooleanSupplier wanted = () -> !interrupted && programs < most && System.nanoTime() - start < time.toNanos()
        && (plan.mode() != Mode.EACH || turn < faults.size());
    Files.createDirectories(folder);
    // While this process ends, its applications do, and programs fail for that reason.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> interrupted = true, "soak-interrupted"));
    boolean good = true;
    try (Samples samples = new Samples(csv()); Watch watch = new Watch(plan.patienceS(), folder)) {
      while (good && wanted.getAsBoolean()) {
        good = oneApplication(wanted, samples, watch);
      }
    }
    // Programs that nothing can be compared with prove nothing.
    boolean compared = 2 * unanswered <= programs;
    boolean harmed =
        plan.mode() != Mode.EACH || faults.stream().allMatch(fault -> fault == Fault.NONE || harmed(fault));
    summary(good, compared, harmed);
    return good && compared && harmed && (plan.mode() != Mode.LASTING || lasted());
  }

  private Path csv() {
    return folder.resolve("samples-" + plan.seed() + ".csv");
  }

  private boolean oneApplication(BooleanSupplier wanted, Samples samples, Watch watch) {
    Map<String, String> settings = settings();
    application++;
    boolean lasting = plan.mode() == Mode.LASTING;
    out.println("new applications: " + settings);
    Applications started = applications.with(settings);
    try (Application stock = started.start(Engine.STOCK); Application sluice = started.start(Engine.SLUICE)) {
      for (int i = 0; (lasting || i < PROGRAMS_PER_APPLICATION) && wanted.getAsBoolean(); i++) {
        if (plan.mode() == Mode.EACH && !settings.equals(settings())) {
          return true;
        }
        Work work = next();
        Outcome outcome = program(work, stock, sluice, watch);
        if (!lasting || work.program() == COMPARED) {
          sample(List.of(stock, sluice), samples, lasting);
        }
        if (outcome == Outcome.WRONG) {
          return false;
        }
        if (outcome == Outcome.ENDED) {
          return true;
        }
      }
    }
    return true;
  }

  private Map<String, String> settings() {
    return plan.profile() != null ? plan.profile()
        : plan.mode() == Mode.EACH ? faults.get(turn).settings() : Profile.of(dice.fork(application));
  }

  private Work next() {
    Dice own = dice.fork(1_000_000 + programs++);
    SoakProgram random = SoakProgram.of(own.seed());
    int rows = ROWS[own.between(0, ROWS.length - 1)];
    Fault fault = own.pick(faults);
    return switch (plan.mode()) {
      case RANDOM -> new Work(random, rows, fault, own);
      case LASTING -> programs % COMPARED_EVERY == 0 ? new Work(COMPARED, COMPARED_ROWS, Fault.NONE, own)
          : new Work(random, rows, fault, own);
      case EACH -> new Work(COMPARED, faults.get(turn) == Fault.SPILL_FLIPPED ? SPILLED_ROWS : EACH_ROWS,
          faults.get(turn), own);
    };
  }

  /** @param collected whether what is garbage is not to be in the sample */
  private void sample(List<Application> both, Samples samples, boolean collected) {
    try {
      if (collected) {
        for (Application each : both) {
          for (ProcessHandle process : each.processes()) {
            ProcessFaults.jcmd(process, "GC.run");
          }
        }
        Thread.sleep(CLEANER_MS);
      }
      for (Application each : both) {
        samples.add(String.format(Locale.ROOT, "%d,%d,%s,%d", seconds(), application, each.engine().label(), programs),
            each.processes(), folder(each));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (UncheckedIOException e) {
      out.println("warning: no sample: " + e.getMessage());
    }
  }

  /** Draws what the applications held beside the samples, says what grew, and returns whether nothing did. */
  private boolean lasted() throws IOException {
    Endurance endurance = Endurance.read(csv());
    Path picture = folder.resolve("samples-" + plan.seed() + ".svg");
    Files.writeString(picture, endurance.picture() + "\n");
    endurance.lines().forEach(out::println);
    out.println("Picture: " + picture);
    return endurance.holds();
  }

  private enum Outcome { GOOD, WRONG, ENDED }

  private Outcome program(Work work, Application stock, Application sluice, Watch watch) {
    Dice own = work.dice();
    SoakProgram program = work.program();
    int rows = work.rows();
    Fault fault = work.fault();
    Sizing sizing = new Sizing(rows, 1, 0);
    String title = String.format(Locale.ROOT, "%6d s  %4d  %s, %,d rows", seconds(), programs, program.name(), rows);
    Digest expected;
    long before = System.nanoTime();
    try {
      expected = digest(stock, program, sizing, watch);
    } catch (EngineFailure e) {
      if (interrupted) {
        return Outcome.ENDED;
      }
      // Nothing to compare with: the program asks for something that Spark does not give.
      unanswered++;
      tried(false);
      out.println(title + ": not on stock: " + firstLine(e));
      return watch.ended() ? Outcome.ENDED : Outcome.GOOD;
    }
    long stockMs = (System.nanoTime() - before) / 1_000_000;
    TimedFault timed = new TimedFault(fault, sluice, own, stockMs);
    String failure = null;
    boolean failed = false;
    long between = System.nanoTime();
    try {
      Digest actual = digest(sluice, program, sizing, watch);
      if (!actual.equals(expected)) {
        failure = "another result: " + actual.checksum() + " instead of " + expected.checksum();
      }
    } catch (EngineFailure e) {
      if (interrupted) {
        return Outcome.ENDED;
      }
      failed = fault.mayFail() && !watch.ended();
      failure = watch.ended() ? "no answer in " + plan.patienceS() + " s; stacks are in " + folder : e.getMessage();
    }
    long ms = (System.nanoTime() - between) / 1_000_000;
    boolean harmed = timed.end();
    if (failure == null || failed) {
      count(fault, failed, harmed);
      String done = harmed ? fault.toString() : fault + " (nothing to harm)";
      out.println(failed ? title + ", " + done + ": failed, as it may: " + failure.lines().findFirst().orElse("")
          : String.format(Locale.ROOT, "%s, %s: equal, %d rows, %d ms, stock %d ms", title, done, expected.rows(), ms,
              stockMs));
      return Outcome.GOOD;
    }
    out.println(title + ", " + fault + ": " + failure);
    out.println(watch.ended() ? program.listing(rows) : shrunk(work, stockMs, stock, sluice, watch));
    return Outcome.WRONG;
  }

  private void count(Fault fault, boolean failed, boolean harmed) {
    Count count = outcomes.computeIfAbsent(fault, key -> new Count());
    count.equal += failed ? 0 : 1;
    count.failed += failed ? 1 : 0;
    count.missed += harmed ? 0 : 1;
    tried(harmed);
  }

  /** Where each fault is to harm once, the next one's turn comes. */
  private void tried(boolean harmed) {
    tries++;
    if (harmed || tries == TRIES) {
      turn++;
      tries = 0;
    }
  }

  private boolean harmed(Fault fault) {
    return outcomes.containsKey(fault) && outcomes.get(fault).hit();
  }

  private String shrunk(Work work, long stockMs, Application stock, Application sluice, Watch watch) {
    return new Shrinking((shorter, size) -> digest(stock, shorter, size, watch),
        (shorter, size) -> digest(sluice, shorter, size, watch),
        (shorter, size) -> harmed(work.fault(), work.dice(), stockMs, sluice,
            () -> digest(sluice, shorter, size, watch)),
        work.fault().mayFail(), watch::ended).report(work.program(), new Sizing(work.rows(), 1, 0));
  }

  private static Digest digest(Application application, SoakProgram program, Sizing sizing, Watch watch) {
    return watch.over(application::processes, () -> application.verify(program.name(), sizing, progress -> {}));
  }

  /** Runs {@code program} on {@code sluice} while {@code fault} is done to it. */
  private Digest harmed(Fault fault, Dice own, long stockMs, Application sluice, Supplier<Digest> program) {
    TimedFault timed = new TimedFault(fault, sluice, own, stockMs);
    try {
      return program.get();
    } finally {
      timed.end();
    }
  }

  private static String firstLine(EngineFailure failure) {
    return failure.getMessage().lines().findFirst().orElse("");
  }

  /** A fault that is done to an application while it runs a program, some time after this was made. */
  private final class TimedFault implements Fault.Target {
    private final Fault fault;
    private final Application application;
    private final Thread thread;
    private volatile boolean over;
    private volatile boolean harmed;

    TimedFault(Fault fault, Application application, Dice own, long stockMs) {
      this.fault = fault;
      this.application = application;
      long waitMs = own.between(0, (int) Math.min(stockMs + 1, Integer.MAX_VALUE - 1));
      Dice rest = new Dice(own.seed());
      this.thread = new Thread(() -> inject(waitMs, rest), "soak-fault");
      thread.setDaemon(true);
      thread.start();
    }

    private void inject(long waitMs, Dice rest) {
      try {
        Thread.sleep(waitMs);
        boolean inTime = !over;
        harmed = fault.inject(this, rest) && inTime;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (UncheckedIOException e) {
        out.println("warning: " + e.getMessage());
      }
    }

    /**
     * Says that the program is over, and waits for the fault's end. Executors that do not work as before are replaced.
     *
     * @return whether the fault began before the program was over, and had something that it was done to
     */
    boolean end() {
      over = true;
      try {
        thread.join(120_000);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      if (fault.spoilsExecutors()) {
        application.executors().forEach(ProcessHandle::destroyForcibly);
      }
      return harmed;
    }

    @Override
    public ProcessHandle driver() {
      return application.driver();
    }

    @Override
    public List<ProcessHandle> executors() {
      return application.executors();
    }

    @Override
    public Path folder() {
      return Soak.this.folder(application);
    }
  }

  /** Where the application's files are seen from here. */
  private Path folder(Application application) {
    return plan.rooms() ? Room.seenFromOutside(application.driver(), application.folder()) : application.folder();
  }

  private long seconds() {
    return (System.nanoTime() - start) / 1_000_000_000;
  }

  private void summary(boolean good, boolean compared, boolean harmed) {
    out.printf(Locale.ROOT, "%n%d programs in %d s, %d of them not on stock; samples: %s%n", programs, seconds(),
        unanswered, csv());
    outcomes.forEach((fault, count) -> out.printf(Locale.ROOT, "  %-22s %4d equal%s%s%n", fault, count.equal,
        count.failed == 0 ? "" : ", " + count.failed + " failed as they may",
        count.missed == 0 ? "" : ", " + count.missed + " of them with nothing to harm"));
    List<String> unharmed =
        faults.stream().filter(fault -> fault != Fault.NONE && !harmed(fault)).map(Fault::label).toList();
    if (!unharmed.isEmpty()) {
      out.println("Never did harm: " + String.join(", ", unharmed) + ".");
    }
    out.println(!good ? "A program went wrong, see above."
        : !compared ? "Most programs could not be run on stock, see above."
            : !harmed ? "Not every fault did harm, see above."
                : "All compared results were equal, and no program hung.");
  }
}
