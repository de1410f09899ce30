package io.sluice.bench;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.report.BenchResult;
import io.sluice.bench.report.DemoText;
import io.sluice.bench.report.Environment;
import io.sluice.bench.report.Progress;
import io.sluice.bench.report.Verdict;
import io.sluice.bench.run.Application;
import io.sluice.bench.run.DataSize;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.run.Site;
import io.sluice.bench.run.SparkHome;
import io.sluice.bench.run.Workplace;
import io.sluice.bench.workload.Sizing;
import io.sluice.bench.workload.TeraRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code ./sluice demo}: one sort, first on Spark's shuffle, then on Sluice.
 *
 * <p>One engine after the other, so that the demo fits on a small machine; {@code bench} is the tool for
 * figures that disturbances of the machine must not distort.
 */
@Command(name = "demo", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Sorts generated TeraSort records (10-byte key, 90-byte value) as a DataFrame on Spark's own "
        + "shuffle, then on Sluice, and compares the outputs. Exits with 1 if they differ.")
final class DemoCommand implements Callable<Integer> {

  private static final String WORKLOAD = "terasort-df";
  private static final int EXECUTOR_MIB = 2048;
  /** The warm-up sorts this part of the records: enough for the JIT compiler. */
  private static final int WARM_UP_PART = 4;
  private static final List<Engine> ENGINES = List.of(Engine.STOCK, Engine.SLUICE);
  private static final int STEPS_PER_ENGINE = 4;

  @Option(names = "--size", defaultValue = "1g", paramLabel = "SIZE",
      description = "Bytes of records, as 500m or 2g. "
          + "Default: ${DEFAULT-VALUE}, which is 10 million records.") private String size;

  @Option(names = "--spark", defaultValue = "4.2.0", paramLabel = "VERSION",
      description = "Spark version, as 4.2.0, 3.5 or 3.5.8-2.13 (with Scala's). "
          + "Default: ${DEFAULT-VALUE}.") private String spark;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    Sizing sizing = sizing();
    Site site = Site.of(Master.parse("local-cluster[2,1]", EXECUTOR_MIB));
    Workplace workplace = Workplace.current();
    SparkHome home = workplace.sparkHome(spark);
    System.out.println(DemoText.introduction(sizing.rows(), home.sparkVersion()));
    List<Measurement> measurements = new ArrayList<>();
    try (Progress progress = Progress.start("demo", ENGINES.size() * STEPS_PER_ENGINE)) {
      for (Engine engine : ENGINES) {
        progress.step(engine.label() + ", starting Spark");
        try (Application application = Application.start(engine, home, workplace, site, Map.of())) {
          progress.stepDone("up");
          measurements.add(measure(application, sizing, progress));
        }
      }
    }
    Environment environment = Environment.here(
        List.of("demo", "--size", size), site, Map.of(), sizing.maps(), sizing.partitions(), null);
    List<BenchResult> results = BenchResult.of(WORKLOAD, home.sparkVersion(), sizing.rows(), measurements, environment);
    List<String> faults = Verdict.faults(results);
    System.out.println(DemoText.table(results, faults.isEmpty()));
    faults.forEach(fault -> System.err.println("error: " + fault));
    return faults.isEmpty() ? 0 : 1;
  }

  private Sizing sizing() {
    try {
      long rows = Math.max(1, DataSize.parse(size).bytes() / TeraRecord.RECORD_BYTES);
      return new Sizing(rows, Sizing.DEFAULT_MAPS, 0);
    } catch (IllegalArgumentException e) {
      throw new CommandLine.ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  private static Measurement measure(Application application, Sizing sizing, Progress progress) {
    String engine = application.engine().label();
    progress.step(engine + ", warm-up");
    Sizing warmUp = new Sizing(Math.max(1, sizing.rows() / WARM_UP_PART), sizing.maps(), sizing.partitions());
    progress.stepDone(DemoText.seconds(application.run(WORKLOAD, warmUp, progress::tasks).wallS()));
    progress.step(engine + ", sort");
    RunMetrics run = application.run(WORKLOAD, sizing, progress::tasks);
    progress.stepDone(DemoText.seconds(run.wallS()));
    progress.step(engine + ", checking the output");
    Digest digest = application.verify(WORKLOAD, sizing, progress::tasks);
    progress.stepDone(digest.checksum());
    return new Measurement(application.engine(), digest, List.of(run));
  }
}
