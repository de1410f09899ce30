package io.sluice.bench.soak;

import io.sluice.bench.check.Digest;
import io.sluice.bench.run.Application;
import io.sluice.bench.run.Applications;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.EngineFailure;
import io.sluice.bench.workload.Sizing;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * Runs random programs on stock and on Sluice, one after the other, does something to Sluice's application meanwhile,
 * and compares the results. After {@link #PROGRAMS_PER_APPLICATION} programs both engines get new applications with
 * other settings.
 */
public final class Soak {

  static final int PROGRAMS_PER_APPLICATION = 25;

  private static final int[] ROWS = {1, 7, 1_000, 20_000, 100_000, 300_000};

  private final Applications applications;
  private final List<Fault> faults;
  private final boolean rooms;
  private final Dice dice;
  private final Path folder;
  private final long patienceS;
  private final PrintStream out;
  private final Map<Fault, int[]> outcomes = new EnumMap<>(Fault.class);
  private final long start = System.nanoTime();
  private int programs;
  private int unanswered;
  private int application;

  /**
   * @param applications how applications are started; settings of profiles are added
   * @param rooms whether they are started in a {@link Room}
   * @param faults those to choose from, names of {@link Fault}; null for all that can be done
   * @param seed determines programs, faults and settings
   * @param folder where samples and stacks are written
   * @param patienceS seconds after which a program counts as hung
   * @param out what happens, a line per program
   */
  public Soak(Applications applications, boolean rooms, List<String> faults, long seed, Path folder, long patienceS,
      PrintStream out) {
    this.applications = applications;
    this.rooms = rooms;
    this.faults = faults == null ? Stream.of(Fault.values()).filter(fault -> rooms || !fault.inRoom()).toList()
        : faults.stream().map(Soak::fault).toList();
    this.faults.stream().filter(fault -> fault.inRoom() && !rooms).findFirst().ifPresent(fault -> {
      throw new IllegalArgumentException("the fault " + fault.label() + " changes the machine and is only done to "
          + "applications in namespaces of their own, which were not asked for or cannot be had here");
    });
    this.dice = new Dice(seed);
    this.folder = folder;
    this.patienceS = patienceS;
    this.out = out;
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
    BooleanSupplier wanted = () -> programs < most && System.nanoTime() - start < time.toNanos();
    Files.createDirectories(folder);
    try (PrintWriter samples = new PrintWriter(Files.newBufferedWriter(folder.resolve("samples.csv")));
        Watch watch = new Watch(patienceS, folder)) {
      samples.println("second,application,engine,program," + ProcessSample.HEADER);
      boolean good = true;
      while (good && wanted.getAsBoolean()) {
        good = oneApplication(wanted, samples, watch);
      }
      // Programs that nothing can be compared with prove nothing.
      boolean compared = 2 * unanswered <= programs;
      summary(good, compared);
      return good && compared;
    }
  }

  private boolean oneApplication(BooleanSupplier wanted, PrintWriter samples, Watch watch) {
    Map<String, String> settings = Profile.of(dice.fork(application++));
    out.println("new applications: " + settings);
    Applications started = applications.with(settings);
    try (Application stock = started.start(Engine.STOCK); Application sluice = started.start(Engine.SLUICE)) {
      for (int i = 0; i < PROGRAMS_PER_APPLICATION && wanted.getAsBoolean(); i++) {
        Outcome outcome = program(stock, sluice, watch);
        for (Application each : List.of(stock, sluice)) {
          samples.printf(Locale.ROOT, "%d,%d,%s,%d,%s%n", seconds(), application, each.engine().label(), programs,
              ProcessSample.of(each.processes(), folder(each)).csv());
        }
        samples.flush();
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

  private enum Outcome { GOOD, WRONG, ENDED }

  private Outcome program(Application stock, Application sluice, Watch watch) {
    Dice own = dice.fork(1_000_000 + programs++);
    SoakProgram program = SoakProgram.of(own.seed());
    int rows = ROWS[own.between(0, ROWS.length - 1)];
    Fault fault = own.pick(faults);
    Sizing sizing = new Sizing(rows, 1, 0);
    String title = String.format(Locale.ROOT, "%6d s  %4d  %s, %,d rows", seconds(), programs, program.name(), rows);
    Digest expected;
    long before = System.nanoTime();
    try {
      expected = digest(stock, program, sizing, watch);
    } catch (EngineFailure e) {
      // Nothing to compare with: the program asks for something that Spark does not give.
      unanswered++;
      out.println(title + ": not on stock: " + firstLine(e));
      return watch.ended() ? Outcome.ENDED : Outcome.GOOD;
    }
    long stockMs = (System.nanoTime() - before) / 1_000_000;
    Thread injection = injection(fault, sluice, own, stockMs);
    String failure = null;
    long between = System.nanoTime();
    try {
      Digest actual = digest(sluice, program, sizing, watch);
      if (!actual.equals(expected)) {
        failure = "another result: " + actual.checksum() + " instead of " + expected.checksum();
      }
    } catch (EngineFailure e) {
      if (watch.ended()) {
        failure = "no answer in " + patienceS + " s; stacks are in " + folder;
      } else if (fault.mayFail()) {
        outcomes.computeIfAbsent(fault, key -> new int[2])[1]++;
        out.println(title + ", " + fault + ": failed, as it may: " + firstLine(e));
        end(injection, fault, sluice);
        return Outcome.GOOD;
      } else {
        failure = e.getMessage();
      }
    }
    end(injection, fault, sluice);
    if (failure == null) {
      outcomes.computeIfAbsent(fault, key -> new int[2])[0]++;
      out.printf(Locale.ROOT, "%s, %s: equal, %d rows, %d ms, stock %d ms%n", title, fault, expected.rows(),
          (System.nanoTime() - between) / 1_000_000, stockMs);
      return Outcome.GOOD;
    }
    out.println(title + ", " + fault + ": " + failure);
    if (!watch.ended()) {
      out.println(new Shrinking((shorter, size) -> digest(stock, shorter, size, watch),
          (shorter, size) -> digest(sluice, shorter, size, watch), watch::ended).report(program, sizing));
    } else {
      out.println(program.listing(rows));
    }
    return Outcome.WRONG;
  }

  private static Digest digest(Application application, SoakProgram program, Sizing sizing, Watch watch) {
    return watch.over(application::processes, () -> application.verify(program.name(), sizing, progress -> {}));
  }

  private static String firstLine(EngineFailure failure) {
    return failure.getMessage().lines().findFirst().orElse("");
  }

  private Thread injection(Fault fault, Application application, Dice own, long stockMs) {
    long waitMs = own.between(0, (int) Math.min(stockMs + 1, Integer.MAX_VALUE - 1));
    Dice rest = new Dice(own.seed());
    Fault.Target target = new Fault.Target() {
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
    };
    Thread thread = new Thread(() -> {
      try {
        Thread.sleep(waitMs);
        fault.inject(target, rest);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (UncheckedIOException e) {
        out.println("warning: " + e.getMessage());
      }
    }, "soak-fault");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Where the application's files are seen from here. */
  private Path folder(Application application) {
    return rooms ? Room.seenFromOutside(application.driver(), application.folder()) : application.folder();
  }

  /**
   * Waits for the fault's end. One that programs may fail of can leave executors of which each program fails: a class
   * of Spark's or of a library's whose initialisation failed stays unusable in the process. They are replaced.
   */
  private static void end(Thread injection, Fault fault, Application application) {
    try {
      injection.join(120_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (fault.mayFail()) {
      application.executors().forEach(ProcessHandle::destroyForcibly);
    }
  }

  private long seconds() {
    return (System.nanoTime() - start) / 1_000_000_000;
  }

  private void summary(boolean good, boolean compared) {
    out.printf(Locale.ROOT, "%n%d programs in %d s, %d of them not on stock; samples: %s%n", programs, seconds(),
        unanswered,
        folder.resolve("samples.csv"));
    outcomes.forEach((fault, counts) -> out.printf(Locale.ROOT, "  %-22s %4d equal%s%n", fault, counts[0],
        counts[1] == 0 ? "" : ", " + counts[1] + " failed as they may"));
    out.println(!good ? "A program went wrong, see above."
        : compared ? "All compared results were equal, and no program hung."
            : "Most programs could not be run on stock, see above.");
  }
}
