package io.sluice.spark.policy;

import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.TaskFigures;
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
  private static final long serialVersionUID = 1L;

  private final RecordFormat format;
  /** Null when no events are written. */
  private final TaskFigures figures;

  /** @param figures what brings the counts of tasks to the driver, once per application; null for none */
  public SluiceShuffleHandle(
      int shuffleId, ShuffleDependency<K, V, C> dependency, RecordFormat format, TaskFigures figures) {
    super(shuffleId, dependency);
    this.format = format;
    this.figures = figures;
  }

  /** The counters for a reader or writer of this shuffle, which add to {@code ofExecutor}. */
  public Counters counters(Counters ofExecutor, TaskContext context) {
    return figures == null ? ofExecutor
        : figures.counters(ofExecutor, shuffleId(), context.stageId(), context.stageAttemptNumber());
  }

  /** What is sent to the driver with the results of this shuffle's tasks; null for nothing. */
  public TaskFigures figures() {
    return figures;
  }

  /** The kind of rows in the frames. */
  public RecordFormat format() {
    return format;
  }
}
