package io.sluice.spark.policy;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;

/**
 * The handle of a shuffle that Spark's own writers write, in Spark's format, while Sluice is on: its map outputs may be
 * read one-sidedly, and they are removed with those of Sluice. A shuffle that is registered with {@code
 * spark.sluice.enabled=false} has Spark's handle as it is instead, so that executors leave it to Spark altogether.
 */
public final class CarriedHandle<K, V, C> extends BaseShuffleHandle<K, V, C> {
  private static final long serialVersionUID = 1L;

  private final ShuffleHandle sparks;

  /** @param sparks what Spark's sort shuffle has chosen for the shuffle */
  public CarriedHandle(int shuffleId, ShuffleDependency<K, V, C> dependency, ShuffleHandle sparks) {
    super(shuffleId, dependency);
    this.sparks = sparks;
  }

  /** The handle by which Spark's sort shuffle chooses the writer. */
  public ShuffleHandle sparks() {
    return sparks;
  }
}
