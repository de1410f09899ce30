package io.sluice.spark.write;

import io.sluice.spark.ExecutorState;
import io.sluice.spark.SluiceShuffleHandle;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import scala.Option;
import scala.Product2;

/** Comes with the next commit. */
public final class SluiceShuffleWriter<K, V> extends ShuffleWriter<K, V> {
  public SluiceShuffleWriter(SluiceShuffleHandle<?, ?, ?> handle, long mapId, TaskContext context,
      ShuffleWriteMetricsReporter metrics, ExecutorState executor, IndexShuffleBlockResolver resolver) {}

  @Override
  public void write(scala.collection.Iterator<Product2<K, V>> records) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long[] getPartitionLengths() {
    throw new UnsupportedOperationException();
  }
}
