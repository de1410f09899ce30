package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.FetchFailed;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * The driver of {@link SeveralHostsTest}. It is a program of its own because executors can reach only a process on the
 * driver's host. Arguments: the engine, the folder of the {@link Gate} that the last query's reduce tasks pass, and
 * Sluice's transport. Prints lines with the prefixes declared here. With UCX, when all queries are done, waits until
 * executors read each other one-sidedly again, then for a line of input, and runs those without a gate once more.
 */
final class SeveralHostsProgram {
  static final String RESULT = "result of ";
  static final String FETCH_FAILURE = "fetch failure";
  static final String RETRIED_STAGES = "retried stages: ";
  static final String REMOTE_BLOCKS = "remote blocks: ";
  static final String ONE_SIDED_BLOCKS = "of them read one-sidedly: ";
  static final String IN_MEMORY = "map outputs in memory: ";
  static final String ONE_SIDED_AGAIN = "whether executors that were read one-sidedly are so again: ";
  static final String LATE_FETCH_FAILURES = "fetch failures since: ";
  static final String SENT_AGAIN = "TCP segments that hosts have sent again since: ";

  static final String REPARTITION = "repartition";
  static final String JOIN = "join";
  static final String GATED = "repartition with a gate";
  static final List<String> QUERIES = List.of(REPARTITION, JOIN, GATED);

  private static final long ROWS = 100_000;
  private static final int REDUCERS = 20;

  private SeveralHostsProgram() {}

  public static void main(String[] arguments) throws IOException {
    Engine engine = Engine.valueOf(arguments[0]);
    try (SparkApplication application = start(engine, arguments[2])) {
      SparkSession spark = application.session();
      spark.sparkContext().addSparkListener(new Reporter());
      Gate.register(spark, "gate", Path.of(arguments[1]));
      run(queries(), spark);
      System.out.println(RETRIED_STAGES + application.events().retriedStages());
      System.out.println(REMOTE_BLOCKS + application.events().totals().remoteBlocks());
      long oneSided = counted(engine, application, Counter.TRANSPORT_BLOCKS);
      System.out.println(ONE_SIDED_BLOCKS + oneSided);
      System.out.println(IN_MEMORY + counted(engine, application, Counter.CACHE_OUTPUTS));
      if (arguments[2].equals("ucx")) {
        onceMore(engine, application, oneSided);
      }
    }
    // A thread that a plugin has left running must not keep the program alive.
    System.exit(0);
  }

  private static void run(List<Query> queries, SparkSession spark) {
    queries.forEach(query -> System.out.println(RESULT + query.name() + ": " + query.run(spark)));
  }

  private static void onceMore(Engine engine, SparkApplication application, long oneSided) throws IOException {
    List<Query> queries = queries().stream().filter(query -> !query.name().equals(GATED)).toList();
    if (oneSided > 0) {
      OneSidedReads.await(application, () -> queries.get(0).run(application.session()));
    }
    System.out.println(ONE_SIDED_AGAIN + (oneSided > 0 ? "yes" : "no"));
    System.in.read();
    int failures = application.events().fetchFailures().size();
    long before = counted(engine, application, Counter.TRANSPORT_BLOCKS);
    long sentAgain = sentAgain(application);
    run(queries, application.session());
    System.out.println(SENT_AGAIN + (sentAgain(application) - sentAgain));
    System.out.println(LATE_FETCH_FAILURES + (application.events().fetchFailures().size() - failures));
    System.out.println(ONE_SIDED_BLOCKS + (counted(engine, application, Counter.TRANSPORT_BLOCKS) - before));
  }

  private static long sentAgain(SparkApplication application) {
    return ExecutorSurvey.ask(application.context(), TcpSegments::sentAgain).values().stream()
        .mapToLong(Long::longValue).sum();
  }

  private static long counted(Engine engine, SparkApplication application, Counter counter) {
    return engine.isSluice() ? ProcessCounters.ofExecutors(application.context()).get(counter) : 0;
  }

  /** A request over a cut link fails after seconds instead of minutes; the driver's address is the host's. */
  private static SparkApplication start(Engine engine, String transport) {
    SparkApplication.Builder builder = SparkApplication.on(engine);
    if (engine.isSluice()) {
      // Map outputs stay in memory with every transport.
      builder.set("spark.sluice.mode", "UCX")
          .set("spark.sluice.transport", transport)
          .set("spark.sluice.transport.timeout", "2s")
          .set("spark.sluice.transport.retryDelay", "1s");
    }
    return builder
        .master(System.getenv("MASTER"))
        .without("spark.driver.host")
        .without("spark.driver.bindAddress")
        .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .set("spark.cores.max", "2")
        .set("spark.locality.wait", "0")
        .set("spark.shuffle.io.connectionTimeout", "2s")
        .start();
  }

  private static List<Query> queries() {
    return List.of(
        Query.of(REPARTITION, spark -> events(spark).repartition(col("k"))),
        Query.of(JOIN, SeveralHostsProgram::join),
        Query.of(GATED,
            spark -> events(spark).repartition(REDUCERS, col("k")).selectExpr("gate(id) AS id", "k", "name")));
  }

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, 4);
  }

  private static Dataset<Row> join(SparkSession spark) {
    Dataset<Row> left = events(spark).where("id % 3 <> 0");
    Dataset<Row> right = events(spark).where("id % 2 = 0").select(col("id").as("other"), col("name").as("text"));
    return left.hint("merge").join(right, left.col("id").equalTo(right.col("other")));
  }

  /** Prints a line as soon as a task could not fetch a block. */
  private static final class Reporter extends SparkListener {
    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
      if (event.reason() instanceof FetchFailed) {
        System.out.println(FETCH_FAILURE);
      }
    }
  }
}
