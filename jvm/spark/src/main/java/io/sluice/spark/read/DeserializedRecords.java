package io.sluice.spark.read;

import io.sluice.spark.metrics.ReadCounts;
import java.io.InputStream;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The records in the streams of a reduce task's blocks, block after block, each counted as read. Spark's record
 * iterators close their streams when they end. One thread.
 */
final class DeserializedRecords extends AbstractIterator<Tuple2<Object, Object>> {
  private final Iterator<Tuple2<BlockId, InputStream>> blocks;
  private final SerializerInstance serializer;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final ReadCounts counts;
  private Iterator<Tuple2<Object, Object>> current;
  private boolean ended;

  DeserializedRecords(Iterator<Tuple2<BlockId, InputStream>> blocks, SerializerInstance serializer, TaskContext context,
      ShuffleReadMetricsReporter metrics, ReadCounts counts) {
    this.blocks = blocks;
    this.serializer = serializer;
    this.context = context;
    this.metrics = metrics;
    this.counts = counts;
  }

  @Override
  public boolean hasNext() {
    while (!ended && (current == null || !current.hasNext())) {
      if (blocks.hasNext()) {
        current = serializer.deserializeStream(blocks.next()._2()).asKeyValueIterator();
      } else {
        ended = true;
        context.taskMetrics().mergeShuffleReadMetrics();
      }
    }
    return !ended;
  }

  @Override
  public Tuple2<Object, Object> next() {
    if (!hasNext()) {
      throw new NoSuchElementException("no more records in this shuffle partition");
    }
    Tuple2<Object, Object> record = current.next();
    metrics.incRecordsRead(1);
    counts.record();
    return record;
  }
}
