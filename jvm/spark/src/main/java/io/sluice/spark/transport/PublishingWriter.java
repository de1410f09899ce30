package io.sluice.spark.transport;

import java.io.IOException;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleWriter;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** A writer, Spark's or ours, whose map output is published once it is committed. One task's thread only. */
public final class PublishingWriter<K, V> extends ShuffleWriter<K, V> {
  private final ShuffleWriter<K, V> writer;
  private final IndexShuffleBlockResolver resolver;
  private final Publisher publisher;
  private final int shuffleId;
  private final long mapId;

  public PublishingWriter(ShuffleWriter<K, V> writer, IndexShuffleBlockResolver resolver, Publisher publisher,
      int shuffleId, long mapId) {
    this.writer = writer;
    this.resolver = resolver;
    this.publisher = publisher;
    this.shuffleId = shuffleId;
    this.mapId = mapId;
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    writer.write(records);
  }

  /** A map status means that the output is committed; a second call of Spark's gets none. */
  @Override
  public Option<MapStatus> stop(boolean success) {
    Option<MapStatus> status = writer.stop(success);
    if (success && status.isDefined()) {
      publisher.publish(shuffleId, mapId, resolver.getDataFile(shuffleId, mapId),
          resolver.getIndexFile(shuffleId, mapId, Option.empty()), writer.getPartitionLengths());
    }
    return status;
  }

  @Override
  public long[] getPartitionLengths() {
    return writer.getPartitionLengths();
  }
}
