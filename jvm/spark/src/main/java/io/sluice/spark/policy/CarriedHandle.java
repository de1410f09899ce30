package io.sluice.spark.policy;

import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.TaskFigures;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;

/**
 * The handle of a shuffle that Spark's own writers write, in Spark's format, while Sluice is on: its map outputs may be
 * read one-sidedly, and they are removed with those of Sluice. A shuffle that is registered with {@code
 * spark.sluice.enabled=false} has Spark's handle as it is instead, so that executors leave it to Spark altogether.
 */
public final class CarriedHandle<K, V, C> extends BaseShuffleHandle<K, V, C> {
  /** 2: with {@link #figures}. */
  private static final long serialVersionUID = 2L;

  private final ShuffleHandle sparks;
  /** Null when no events are written, or Spark's own readers read the shuffle. */
  private final TaskFigures figures;

  /**
   * @param sparks what Spark's sort shuffle has chosen for the shuffle
   * @param figures what brings the counts of tasks to the driver, once per application; null for none
   */
  public CarriedHandle(
      int shuffleId, ShuffleDependency<K, V, C> dependency, ShuffleHandle sparks, TaskFigures figures) {
    super(shuffleId, dependency);
    this.sparks = sparks;
    this.figures = figures;
  }

  /** The counters for a reader of this shuffle, which add to {@code ofExecutor}. */
  public Counters counters(Counters ofExecutor, TaskContext context) {
    return figures == null ? ofExecutor : figures.counters(ofExecutor, shuffleId(), context);
  }

  /** What is sent to the driver with the results of this shuffle's tasks; null for nothing. */
  public TaskFigures figures() {
    return figures;
  }

  /** The handle by which Spark's sort shuffle chooses the writer. */
  public ShuffleHandle sparks() {
    return sparks;
  }
}
