package io.sluice.bench.run;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.report.Progress;
import io.sluice.bench.workload.Sizing;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Runs one workload as the first job of new applications, one after the other, the engines in turn: nothing is loaded,
 * compiled or connected when the job begins. The first application of every engine is not counted, because it may read
 * jars from the disk; it repeats the job to digest its result.
 */
public final class FirstQueryExperiment {

  private final List<Engine> engines;
  private final Applications applications;
  private final int rounds;

  /** An experiment with {@code rounds} counted applications on each of {@code engines}. */
  public FirstQueryExperiment(List<Engine> engines, Applications applications, int rounds) {
    this.engines = List.copyOf(engines);
    this.applications = applications;
    this.rounds = rounds;
  }

  /** One {@link Measurement} per engine, in their order. */
  public List<Measurement> run(String workload, Sizing sizing) {
    List<Counted> counted = engines.stream().map(Counted::new).toList();
    try (Progress progress = Progress.start(workload, engines.size() * (1 + rounds))) {
      for (int round = 0; round <= rounds; round++) {
        for (Counted engine : counted) {
          String what = round == 0 ? "checksum" : "application " + round + " of " + rounds;
          progress.step(engine.engine.label() + ", " + what);
          progress.stepDone(one(engine, round, workload, sizing, progress));
        }
      }
    }
    return counted.stream().map(Counted::measurement).toList();
  }

  /** Runs one application; what came of it in a few words. */
  private String one(Counted counted, int round, String workload, Sizing sizing, Progress progress) {
    long begin = System.nanoTime();
    try (Application application = applications.start(counted.engine)) {
      double startS = (System.nanoTime() - begin) / 1e9;
      RunMetrics run = application.run(workload, sizing, progress::tasks);
      if (round == 0) {
        counted.digest = application.verify(workload, sizing, progress::tasks);
        return counted.digest.checksum() + (counted.digest.ordered() ? "" : ", NOT SORTED");
      }
      counted.runs.add(run);
      counted.startsS.add(startS);
      return String.format(Locale.ROOT, "%.2f s, after a start of %.2f s", run.wallS(), startS);
    }
  }

  /** The results of one engine so far. */
  private static final class Counted {
    private final Engine engine;
    private final List<RunMetrics> runs = new ArrayList<>();
    private final List<Double> startsS = new ArrayList<>();
    private Digest digest;

    Counted(Engine engine) {
      this.engine = engine;
    }

    Measurement measurement() {
      return new Measurement(engine, digest, runs, startsS);
    }
  }
}
