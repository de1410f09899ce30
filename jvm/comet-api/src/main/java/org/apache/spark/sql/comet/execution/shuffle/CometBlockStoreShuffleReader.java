package org.apache.spark.sql.comet.execution.shuffle;

import org.apache.spark.MapOutputTracker;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockManager;
import scala.Product2;
import scala.collection.Iterator;

/** Comet 0.12's reader as its users see it; at run time the class is Comet's own. */
public class CometBlockStoreShuffleReader<K, C> implements ShuffleReader<K, C> {
  /** Comet's constructor only keeps what it is given, and the handle's dependency. */
  public CometBlockStoreShuffleReader(BaseShuffleHandle<K, ?, C> handle, Iterator<?> blocksByAddress,
      TaskContext context, ShuffleReadMetricsReporter metrics, SerializerManager serializerManager,
      BlockManager blockManager, MapOutputTracker mapOutputTracker, boolean shouldBatchFetch) {}

  @Override
  public Iterator<Product2<K, C>> read() {
    throw new UnsupportedOperationException("not Comet's class");
  }
}
