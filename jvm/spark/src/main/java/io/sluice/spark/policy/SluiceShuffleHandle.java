package io.sluice.spark.policy;

import org.apache.spark.ShuffleDependency;
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

  public SluiceShuffleHandle(int shuffleId, ShuffleDependency<K, V, C> dependency, RecordFormat format) {
    super(shuffleId, dependency);
    this.format = format;
  }

  /** The kind of rows in the frames. */
  public RecordFormat format() {
    return format;
  }
}
