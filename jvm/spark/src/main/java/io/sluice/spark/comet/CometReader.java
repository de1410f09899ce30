package io.sluice.spark.comet;

import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.sql.comet.execution.shuffle.CometBlockStoreShuffleReader;
import scala.Product2;
import scala.collection.Iterator;

/**
 * A reader that Comet's exchange takes: it casts what it gets from the shuffle manager to its own reader's class. It
 * refers to no class of Sluice's, so that {@link CometReaders} can define it beside Comet's classes.
 */
public final class CometReader<K, C> extends CometBlockStoreShuffleReader<K, C> {
  private final Supplier<Iterator<Product2<K, C>>> batches;

  public CometReader(BaseShuffleHandle<K, ?, C> handle, TaskContext context, ShuffleReadMetricsReporter metrics,
      Supplier<Iterator<Product2<K, C>>> batches) {
    super(handle, null, context, metrics, null, null, null, false);
    this.batches = batches;
  }

  @Override
  public Iterator<Product2<K, C>> read() {
    return batches.get();
  }
}
