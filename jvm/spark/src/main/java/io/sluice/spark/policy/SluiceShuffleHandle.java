package io.sluice.spark.policy;

import io.sluice.spark.SluiceException;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ExchangeMetrics;
import io.sluice.spark.metrics.TaskFigures;
import io.sluice.spark.seal.ApplicationKey;
import io.sluice.spark.versions.JarBuild;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;

/**
 * Marks a shuffle whose map output is written as Sluice frames. The driver decides it once, when the shuffle
 * is registered; every task of the shuffle obeys it, because all map outputs of a shuffle have one format.
 *
 * <p>Shuffles that fall back have one of Spark's own handles instead.
 */
public final class SluiceShuffleHandle<K, V, C> extends BaseShuffleHandle<K, V, C> {
  /**
   * 2: with {@link #sealed}. Versions that do not know it cannot read the handle, and so write no frame in the clear.
   * 3: with the driver's build. 4: that and the format as plain values: every task reads the handle in a stream of its
   * own, which would look up the classes of both.
   */
  private static final long serialVersionUID = 4L;

  private final boolean rowsOfSql;
  private final boolean sealed;
  private final String driverVersion;
  private final String driverClasses;
  /** Null when no events are written. */
  private final TaskFigures figures;
  /** Null when the shuffle is of no exchange in a SQL plan, or of one that Sluice has left as it was. */
  private final ExchangeMetrics exchange;

  /**
   * @param sealed whether frames are encrypted
   * @param build that of the driver
   * @param figures what brings the counts of tasks to the driver, once per application; null for none
   * @param exchange the metrics of the exchange's node in the SQL plan; null for none
   */
  public SluiceShuffleHandle(int shuffleId, ShuffleDependency<K, V, C> dependency, RecordFormat format, boolean sealed,
      JarBuild build, TaskFigures figures, ExchangeMetrics exchange) {
    super(shuffleId, dependency);
    this.rowsOfSql = format == RecordFormat.SQL_ROWS;
    this.sealed = sealed;
    this.driverVersion = build.version();
    this.driverClasses = build.classes();
    this.figures = figures;
    this.exchange = exchange;
  }

  /** The counters for a reader or writer of this shuffle, which add to {@code ofExecutor}. */
  public Counters counters(Counters ofExecutor, TaskContext context) {
    return figures == null ? ofExecutor : figures.counters(ofExecutor, shuffleId(), context);
  }

  /** The metrics of the exchange's node in the SQL plan, to which its writers and readers add; null for none. */
  public ExchangeMetrics exchange() {
    return exchange;
  }

  /** What is sent to the driver with the results of this shuffle's tasks; null for nothing. */
  public TaskFigures figures() {
    return figures;
  }

  /**
   * Fails unless this process seals the shuffle's frames exactly if the driver has decided so.
   *
   * @param hasKey whether this process has a key for them
   * @throws SluiceException when it must not write or read a frame of this shuffle
   */
  public void checkSealed(boolean hasKey) {
    if (sealed != hasKey) {
      throw new SluiceException("the driver registered shuffle " + shuffleId() + " with "
          + ApplicationKey.ENABLED + "=" + sealed + ", but this executor runs with " + hasKey
          + ". Set it once, when the application is started, and the same for the driver and all executors");
    }
  }

  /**
   * Fails unless this process has the driver's classes. With the plugin such an executor was refused before it got a
   * task; this is for applications that have the shuffle manager alone.
   *
   * @param own the build of this process
   * @throws SluiceException when it has others
   */
  public void checkBuild(JarBuild own, String executorId) {
    JarBuild build = new JarBuild(driverVersion, driverClasses);
    if (!own.worksWith(build)) {
      throw new SluiceException("Executor " + executorId + " has " + own + " and the driver, which registered shuffle "
          + shuffleId() + ", has " + build + ". Give all machines the driver's jar, or start the application again "
          + "with the new one; with spark.plugins=io.sluice.spark.SluicePlugin such an executor gets no task "
          + "(docs/upgrading.md)");
    }
  }

  /** The kind of rows in the frames. */
  public RecordFormat format() {
    return rowsOfSql ? RecordFormat.SQL_ROWS : RecordFormat.RDD_RECORDS;
  }
}
