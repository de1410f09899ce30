package io.sluice.bench.run;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.Reply;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.report.Progress;
import io.sluice.bench.workload.Sizing;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Runs one workload on several engines so that the figures can be compared.
 *
 * <p>Every engine's result is digested first (untimed; failures show early). Then rounds of one run per engine,
 * in turn, so that other load on the machine affects all engines alike; the first rounds are thrown away, because the
 * JVMs compile in them.
 *
 * <p>Where a host is to be cut off in the middle of runs, that is done in the counted ones and in one more of each
 * engine, whose result is the one that is compared. Before each of them comes the same run with all hosts there,
 * because connections of all applications need time to recover from an absence.
 */
public final class Experiment {

  private final List<Application> applications;
  private final int warmUps;
  private final int rounds;
  /** Null if all hosts stay. */
  private final HostAbsence absence;

  /** An experiment with {@code rounds} counted runs on each of {@code applications}, after {@code warmUps} others. */
  public Experiment(List<Application> applications, int warmUps, int rounds) {
    this(applications, warmUps, rounds, null);
  }

  /** The same with a host that is away for a while in every counted run; with all hosts there for null. */
  public Experiment(List<Application> applications, int warmUps, int rounds, HostAbsence absence) {
    this.applications = List.copyOf(applications);
    this.warmUps = warmUps;
    this.rounds = rounds;
    this.absence = absence;
  }

  /** What each application's result is, by its engine; measures nothing, so all of them work at the same time. */
  public Map<Engine, Digest> digests(String workload, Sizing sizing) {
    Map<Engine, Digest> digests = new EnumMap<>(Engine.class);
    ExecutorService threads = Executors.newFixedThreadPool(applications.size());
    try (Progress progress = Progress.start(workload, applications.size())) {
      progress.step("checksums");
      List<Callable<Digest>> checks = new ArrayList<>();
      applications.forEach(each -> checks.add(() -> each.verify(workload, sizing, tasks -> {})));
      List<Future<Digest>> done = threads.invokeAll(checks);
      for (int i = 0; i < done.size(); i++) {
        Engine engine = applications.get(i).engine();
        progress.step(engine.label() + ", checksum");
        digests.put(engine, done.get(i).get());
        progress.stepDone(text(digests.get(engine)));
      }
      return digests;
    } catch (ExecutionException e) {
      throw e.getCause() instanceof EngineFailure failure ? failure : new IllegalStateException(workload, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while results of " + workload + " were compared", e);
    } finally {
      threads.shutdownNow();
    }
  }

  /** One {@link Measurement} per application, in their order. */
  public List<Measurement> run(String workload, Sizing sizing) {
    int steps = applications.size() * (warmUps + (1 + rounds) * (absence == null ? 1 : 2));
    try (Progress progress = Progress.start(workload, steps)) {
      List<Digest> digests = new ArrayList<>();
      List<List<RunMetrics>> runs = new ArrayList<>();
      for (Application application : applications) {
        digests.add(verify(application, workload, sizing, progress));
        runs.add(new ArrayList<>());
      }
      for (int round = 1 - warmUps; round <= rounds; round++) {
        for (int i = 0; i < applications.size(); i++) {
          RunMetrics run = measure(applications.get(i), workload, sizing, round, progress);
          if (round > 0) {
            runs.get(i).add(run);
          }
        }
      }
      List<Measurement> measurements = new ArrayList<>();
      for (int i = 0; i < applications.size(); i++) {
        measurements.add(new Measurement(applications.get(i).engine(), digests.get(i), runs.get(i)));
      }
      return measurements;
    }
  }

  private Digest verify(Application application, String workload, Sizing sizing, Progress progress) {
    return tell(application.engine().label() + ", checksum", true, progress,
        heard -> application.verify(workload, sizing, heard), Experiment::text);
  }

  private static String text(Digest digest) {
    return digest.checksum() + (digest.ordered() ? "" : ", NOT SORTED");
  }

  private RunMetrics measure(Application application, String workload, Sizing sizing, int round, Progress progress) {
    String what = round > 0 ? "run " + round + " of " + rounds : "warm-up " + (round + warmUps) + " of " + warmUps;
    return tell(application.engine().label() + ", " + what, round > 0, progress,
        heard -> application.run(workload, sizing, heard), run -> String.format(Locale.ROOT, "%.2f s", run.wallS()));
  }

  /** Does {@code work} as a step called {@code what}; if it {@code counts}, with the host away if one is to be. */
  private <T> T tell(String what, boolean counts, Progress progress, Function<Consumer<Reply>, T> work,
      Function<T, String> outcome) {
    if (absence == null || !counts) {
      return step(what, progress, work, outcome);
    }
    step(what + ", all hosts there", progress, heard -> absence.before(what, heard, work), outcome);
    return step(what, progress, heard -> absence.during(what, heard, work), outcome);
  }

  private static <T> T step(String what, Progress progress, Function<Consumer<Reply>, T> work,
      Function<T, String> outcome) {
    progress.step(what);
    T result = work.apply(progress::tasks);
    progress.stepDone(outcome.apply(result));
    return result;
  }
}
