package io.sluice.spark;

import io.sluice.spark.metrics.Counter;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A Spark of two cores in this process, on Sluice, for tests. Stock results come from the same session, switched off.
 */
public final class LocalSpark implements AutoCloseable {
  /** Off where it is not asked for: tests look at files of shuffles that nothing refers to any more. */
  public static final String CLEANER = "spark.cleaner.referenceTracking";

  private final SparkSession session;

  private LocalSpark(SparkSession session) {
    this.session = session;
  }

  /** Starts it; {@code settings} are added to the defaults below. */
  public static LocalSpark start(Map<String, String> settings) {
    return start("local[2]", settings);
  }

  /**
   * @param settings beside those of all tests, or other values of these; with {@link #CLEANER} Spark removes shuffles
   *     that nothing refers to any more
   */
  public static LocalSpark start(String master, Map<String, String> settings) {
    SparkSession.Builder builder = SparkSession.builder().master(master).appName("sluice-test")
        .config("spark.plugins", SluicePlugin.class.getName())
        .config("spark.shuffle.manager", SluiceShuffleManager.class.getName())
        .config("spark.sluice.memory.failOnLeak", "true")
        // Tests look at map outputs when the action is over.
        .config("spark.sluice.sql.cleanup", "off")
        .config(CLEANER, "false")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "7")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "true");
    settings.forEach(builder::config);
    return new LocalSpark(builder.getOrCreate());
  }

  public SparkSession session() {
    return session;
  }

  public SluiceShuffleManager manager() {
    return (SluiceShuffleManager) SparkEnv.get().shuffleManager();
  }

  public long counter(Counter counter) {
    return manager().counters().get(counter);
  }

  /** The rows of a query whose shuffles go through Spark's own sort shuffle. */
  public List<Row> onStock(Supplier<Dataset<Row>> query) {
    session.conf().set("spark.sluice.enabled", "false");
    try {
      return query.get().collectAsList();
    } finally {
      session.conf().unset("spark.sluice.enabled");
    }
  }

  public List<Row> onSluice(Supplier<Dataset<Row>> query) {
    return query.get().collectAsList();
  }

  @Override
  public void close() {
    session.stop();
    SparkSession.clearActiveSession();
    SparkSession.clearDefaultSession();
  }
}
