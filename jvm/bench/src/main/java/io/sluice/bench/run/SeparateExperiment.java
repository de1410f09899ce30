package io.sluice.bench.run;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.report.Progress;
import io.sluice.bench.workload.Sizing;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Runs workloads on engines that cannot be up side by side, because together they need more memory than the machine
 * has, or have servers. Every round starts a new application on each engine in turn, which runs all workloads, each one
 * a few times to warm up and once counted, and ends.
 *
 * <p>A workload that fails on an engine is not tried on it again; the engine goes on with the next one in a new
 * application.
 */
public final class SeparateExperiment {

  private final List<Engine> engines;
  private final Applications applications;
  private final int warmUps;
  private final int rounds;
  private final Consumer<String> faults;
  /** By workload, then engine, of those that have not failed. */
  private final Map<String, Map<Engine, Counted>> counted = new LinkedHashMap<>();

  /**
   * An experiment with {@code rounds} counted runs, each after {@code warmUps} others.
   *
   * @param faults is told of every workload that fails on an engine
   */
  public SeparateExperiment(List<Engine> engines, Applications applications, int warmUps, int rounds,
      Consumer<String> faults) {
    this.engines = List.copyOf(engines);
    this.applications = applications;
    this.warmUps = warmUps;
    this.rounds = rounds;
    this.faults = faults;
  }

  /** A result of one workload on one engine so far. */
  private static final class Counted {
    private final List<RunMetrics> runs = new ArrayList<>();
    private Digest digest;
  }

  /** The measurements of every workload, in the engines' order, without those that have failed. */
  public Map<String, List<Measurement>> run(Map<String, Sizing> workloads) {
    begin(workloads);
    try (Progress progress = Progress.start("separate", engines.size() * rounds * workloads.size())) {
      for (int round = 1; round <= rounds; round++) {
        for (Engine engine : engines) {
          String what = "run " + round + " of " + rounds;
          onEngine(engine, workloads, (application, workload) -> {
            progress.step(workload + ", " + engine.label() + ", " + what);
            measure(application, workload, workloads.get(workload), progress);
          });
        }
      }
    }
    Map<String, List<Measurement>> measurements = new LinkedHashMap<>();
    counted.forEach((workload, results) -> {
      List<Measurement> all = new ArrayList<>();
      results.forEach((engine, one) -> all.add(new Measurement(engine, one.digest, one.runs)));
      measurements.put(workload, all);
    });
    return measurements;
  }

  /** What each engine's result is, by workload; measures nothing. */
  public Map<String, Map<Engine, Digest>> digests(Map<String, Sizing> workloads) {
    begin(workloads);
    try (Progress progress = Progress.start("separate", engines.size() * workloads.size())) {
      for (Engine engine : engines) {
        onEngine(engine, workloads, (application, workload) -> {
          progress.step(workload + ", " + engine.label() + ", checksum");
          progress.stepDone(verify(application, workload, workloads.get(workload), progress).checksum());
        });
      }
    }
    Map<String, Map<Engine, Digest>> digests = new LinkedHashMap<>();
    counted.forEach((workload, results) -> {
      Map<Engine, Digest> ofEngines = new LinkedHashMap<>();
      results.forEach((engine, one) -> ofEngines.put(engine, one.digest));
      digests.put(workload, ofEngines);
    });
    return digests;
  }

  private void begin(Map<String, Sizing> workloads) {
    counted.clear();
    for (String workload : workloads.keySet()) {
      Map<Engine, Counted> results = new LinkedHashMap<>();
      engines.forEach(engine -> results.put(engine, new Counted()));
      counted.put(workload, results);
    }
  }

  /** What is done with one workload in an application. */
  private interface Work {
    void on(Application application, String workload);
  }

  /** Does {@code work} with every workload that has not failed on {@code engine}, in one application if none fails. */
  private void onEngine(Engine engine, Map<String, Sizing> workloads, Work work) {
    List<String> left = new ArrayList<>(workloads.keySet());
    left.removeIf(workload -> !counted.get(workload).containsKey(engine));
    while (!left.isEmpty()) {
      try (Application application = applications.start(engine)) {
        while (!left.isEmpty()) {
          work.on(application, left.get(0));
          left.remove(0);
        }
      } catch (EngineFailure e) {
        String workload = left.remove(0);
        counted.get(workload).remove(engine);
        faults.accept(workload + ": " + e.getMessage());
      }
    }
  }

  private void measure(Application application, String workload, Sizing sizing, Progress progress) {
    Counted one = counted.get(workload).get(application.engine());
    if (one.digest == null) {
      verify(application, workload, sizing, progress);
    }
    for (int i = 0; i < warmUps; i++) {
      application.run(workload, sizing, progress::tasks);
    }
    RunMetrics run = application.run(workload, sizing, progress::tasks);
    one.runs.add(run);
    progress.stepDone(String.format(Locale.ROOT, "%.2f s", run.wallS()));
  }

  private Digest verify(Application application, String workload, Sizing sizing, Progress progress) {
    Counted one = counted.get(workload).get(application.engine());
    one.digest = application.verify(workload, sizing, progress::tasks);
    return one.digest;
  }
}
