package io.sluice.bench.driver;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.ProcessCosts;
import io.sluice.bench.protocol.Reply;
import io.sluice.bench.protocol.Request;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.tables.ParquetTables;
import io.sluice.bench.tables.TableFiles;
import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.workload.HeldWorkload;
import io.sluice.bench.workload.Sizing;
import io.sluice.bench.workload.Workload;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** One Spark application and the instruments on it. Used by one thread. */
final class SparkApplication {

  private static final String JOB_GROUP = "spark.jobGroup.id";
  private static final int TABLES_AT_A_TIME = 2;
  private static final Path PROC = Path.of("/proc");

  private final SparkSession spark;
  /** For workloads that want Spark's defaults: without the benchmark's own settings for queries. */
  private final SparkSession plain;
  private final TaskTotals totals;
  private final ShuffleFiles shuffleFiles;
  private final ExecutorCpu executorCpu;
  /** Processes that serve this application alone. */
  private final List<ProcessHandle> servers;
  /** Null where nobody has asked for it. */
  private final CostAccounting accounting;
  private int runs;

  private SparkApplication(SparkSession spark, SparkSession plain, TaskTotals totals, List<ProcessHandle> servers) {
    this.spark = spark;
    this.servers = servers;
    this.plain = plain;
    this.totals = totals;
    this.shuffleFiles = new ShuffleFiles(spark.sparkContext().getConf().get("spark.local.dir", ""));
    this.executorCpu = new ExecutorCpu(spark.sparkContext().master(), spark.sparkContext().applicationId());
    this.accounting = spark.sparkContext().getConf().getBoolean(CostAccounting.SETTING, false)
        ? new CostAccounting(executorCpu::processes) : null;
    if (accounting != null) {
      spark.sparkContext().addSparkListener(accounting);
    }
  }

  /** Starts the application as {@code request} says; {@code progress} hears of finished tasks. */
  static SparkApplication start(Request request, Consumer<Reply> progress) {
    SparkConf conf = new SparkConf();
    request.settings().forEach(conf::set);
    JavaSparkContext context = new JavaSparkContext(conf);
    SparkSession spark = SparkSession.builder().getOrCreate();
    SparkSession plain = spark.newSession();
    request.ownKeys().forEach(key -> plain.conf().unset(key));
    TaskTotals totals = new TaskTotals(progress);
    context.sc().addSparkListener(totals);
    List<ProcessHandle> servers = request.servers().stream().flatMap(id -> ProcessHandle.of(id).stream()).toList();
    return new SparkApplication(spark, plain, totals, servers);
  }

  /** Does what {@code request} asks for; failures of the job are thrown. */
  Reply answer(Request request) {
    Reply reply = request.action() == Request.Action.TABLES ? tables(request)
        : work(Catalogue.create(request.workload()), request);
    forgetLastQuery();
    shuffleFiles.dropUnused();
    return reply;
  }

  void stop() {
    spark.stop();
  }

  /** Several at a time, because small tables are one task each. */
  private Reply tables(Request request) {
    drainListeners();
    totals.reset();
    TableFiles tables = request.sizing().tables();
    ExecutorService makers = Executors.newFixedThreadPool(TABLES_AT_A_TIME);
    try {
      List<Future<?>> made = new ArrayList<>();
      for (String name : request.tables()) {
        made.add(makers.submit(() -> ParquetTables.write(spark, tables.benchmark().table(name), tables)));
      }
      for (Future<?> table : made) {
        table.get();
      }
      return Reply.ready();
    } catch (ExecutionException e) {
      throw new IllegalStateException("the tables cannot be made", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while tables were made", e);
    } finally {
      makers.shutdownNow();
    }
  }

  private Reply work(Workload workload, Request request) {
    SparkSession session = workload.wantsSparksDefaults() ? plain : spark;
    workload.prepare(session, request.sizing());
    return request.action() == Request.Action.VERIFY
        ? Reply.digest(verify(workload, session, request.sizing()))
        : Reply.run(measure(request.workload(), workload, session, request.sizing()));
  }

  private Digest verify(Workload workload, SparkSession session, Sizing sizing) {
    // Progress tells of this job's tasks alone.
    drainListeners();
    totals.reset();
    return workload.verify(session, sizing);
  }

  private RunMetrics measure(String name, Workload workload, SparkSession session, Sizing sizing) {
    drainListeners();
    DriverMeter driver = workload instanceof HeldWorkload ? DriverMeter.start() : null;
    totals.reset();
    if (accounting != null) {
      accounting.reset();
    }
    long fallbacks = SluiceFallbacks.count();
    List<ProcessHandle> processes =
        Stream.concat(Stream.of(ProcessHandle.current()), executorCpu.processes()).toList();
    double processCpuS = executorCpu.seconds();
    // So that ./sluice advise finds the run in an event log.
    spark.sparkContext().setLocalProperty(JOB_GROUP, "sluice-bench/" + name + "/" + ++runs);
    double wallS;
    ProcessCosts costs;
    Object held = null;
    try (ProcessMeter meter = ProcessMeter.start(PROC, processes, servers)) {
      long start = System.nanoTime();
      if (workload instanceof HeldWorkload keeping) {
        held = keeping.runHeld(session, sizing);
      } else {
        workload.run(session, sizing);
      }
      wallS = (System.nanoTime() - start) / 1e9;
      spark.sparkContext().setLocalProperty(JOB_GROUP, null);
      processCpuS = executorCpu.seconds() - processCpuS;
      costs = meter.costs();
    }
    if (driver != null) {
      driver.ended();
    }
    drainListeners();
    if (accounting != null) {
      // For the events that a listener posted when it heard of the others.
      drainListeners();
    }
    RunMetrics run = totals.metrics(wallS, processCpuS, SluiceFallbacks.count() - fallbacks,
        accounting == null ? null : accounting.costs(), costs);
    if (driver == null) {
      return run;
    }
    RunMetrics whole = run.with(driver.costs());
    Reference.reachabilityFence(held);
    return whole;
  }

  /**
   * Makes Spark's listener threads drop their references to the last query: a waiting thread keeps its last event, and
   * the event of a query's end refers to the whole plan, whose shuffle files would stay until the next query.
   */
  private void forgetLastQuery() {
    spark.sql("SELECT 1").collectAsList();
    drainListeners();
  }

  /** Task ends are delivered late; a run's figures are complete once the bus is empty. */
  private void drainListeners() {
    try {
      spark.sparkContext().listenerBus().waitUntilEmpty();
    } catch (Exception e) {
      // A TimeoutException (Scala declares none) leaves figures incomplete: worth failing the run.
      throw new IllegalStateException("Spark's listener bus did not become empty", e);
    }
  }
}
