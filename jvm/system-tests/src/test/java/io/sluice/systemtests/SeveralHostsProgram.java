package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;

import io.sluice.spark.metrics.Counter;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.FetchFailed;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * The driver of {@link SeveralHostsTest}. It is a program of its own because only a process on the driver's host can be
 * reached by executors. Arguments: the engine, the folder of the {@link Gate} that the last query's reduce tasks pass,
 * and Sluice's transport. Prints what the prefixes here say.
 */
final class SeveralHostsProgram {
  static final String RESULT = "result of ";
  static final String FETCH_FAILURE = "fetch failure";
  static final String RETRIED_STAGES = "retried stages: ";
  static final String REMOTE_BLOCKS = "remote blocks: ";
  static final String ONE_SIDED_BLOCKS = "of them read one-sidedly: ";

  static final String REPARTITION = "repartition";
  static final String JOIN = "join";
  static final String GATED = "repartition with a gate";
  static final List<String> QUERIES = List.of(REPARTITION, JOIN, GATED);

  private static final long ROWS = 100_000;
  private static final int REDUCERS = 20;

  private SeveralHostsProgram() {}

  public static void main(String[] arguments) {
    try (SparkApplication application = start(Engine.valueOf(arguments[0]), arguments[2])) {
      SparkSession spark = application.session();
      spark.sparkContext().addSparkListener(new Reporter());
      Gate.register(spark, "gate", Path.of(arguments[1]));
      queries().forEach(query -> System.out.println(RESULT + query.name() + ": " + query.run(spark)));
      System.out.println(RETRIED_STAGES + application.events().retriedStages());
      System.out.println(REMOTE_BLOCKS + application.events().totals().remoteBlocks());
      System.out.println(ONE_SIDED_BLOCKS + oneSidedBlocks(arguments[0], application));
    }
    // What a plugin left behind must not keep the program alive.
    System.exit(0);
  }

  private static long oneSidedBlocks(String engine, SparkApplication application) {
    return Engine.valueOf(engine).isSluice()
        ? ProcessCounters.ofExecutors(application.context()).get(Counter.TRANSPORT_BLOCKS)
        : 0;
  }

  /** A request over a cut link fails after seconds instead of minutes; the driver's address is the host's. */
  private static SparkApplication start(Engine engine, String transport) {
    SparkApplication.Builder builder = SparkApplication.on(engine);
    if (engine.isSluice()) {
      builder.set("spark.sluice.transport", transport).set("spark.sluice.transport.timeout", "2s");
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
        Query.of(GATED, spark -> events(spark).repartition(REDUCERS, col("k")).selectExpr("gate(id) AS id", "k", "name")));
  }

  private static Dataset<Row> events(SparkSession spark) {
    return Tables.events(spark, ROWS, 4);
  }

  private static Dataset<Row> join(SparkSession spark) {
    Dataset<Row> left = events(spark).where("id % 3 <> 0");
    Dataset<Row> right = events(spark).where("id % 2 = 0").select(col("id").as("other"), col("name").as("text"));
    return left.hint("merge").join(right, left.col("id").equalTo(right.col("other")));
  }

  /** Says at once when a task could not fetch a block. */
  private static final class Reporter extends SparkListener {
    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
      if (event.reason() instanceof FetchFailed) {
        System.out.println(FETCH_FAILURE);
      }
    }
  }
}
