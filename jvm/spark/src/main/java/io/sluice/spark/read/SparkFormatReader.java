package io.sluice.spark.read;

import io.sluice.spark.compat.FetchSettings;
import io.sluice.spark.compat.SparkLine;
import io.sluice.spark.fetch.ArrivalTrackingClient;
import io.sluice.spark.fetch.CountedBlocks;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.order.CombinedRecords;
import java.io.InputStream;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

import org.apache.spark.io.CompressionCodec$;

/**
 * Reads a shuffle that Spark's own writers wrote, as {@code BlockStoreShuffleReader} does, but with the block store
 * client that it is given: Spark's reader always takes the block manager's. Not for shuffles with merged blocks.
 *
 * <p>Made and used on the task's thread.
 */
public final class SparkFormatReader<K, V, C> implements ShuffleReader<K, C> {
  private final ShuffleDependency<K, V, C> dependency;
  private final Range range;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final ArrivalTrackingClient client;
  private final ReadCounts counts;

  /**
   * The range of a shuffle that is read.
   *
   * @param endMapIndex exclusive; {@code Integer.MAX_VALUE} for all
   * @param endPartition exclusive
   */
  public record Range(int startMapIndex, int endMapIndex, int startPartition, int endPartition) {}

  /** @param counts added to their counters when the task ends */
  public SparkFormatReader(ShuffleDependency<K, V, C> dependency, Range range, TaskContext context,
      ShuffleReadMetricsReporter metrics, ArrivalTrackingClient client, ReadCounts counts) {
    this.dependency = dependency;
    this.range = range;
    this.context = context;
    this.metrics = metrics;
    this.client = client;
    this.counts = counts;
  }

  @Override
  public Iterator<Product2<K, C>> read() {
    context.addTaskCompletionListener((TaskCompletionListener) ended -> counts.flush());
    Iterator<?> records = new InterruptibleIterator<>(context, fetch(SparkEnv.get()));
    if (dependency.aggregator().isDefined()) {
      records = CombinedRecords.of(dependency, records, context);
    }
    if (dependency.keyOrdering().isDefined()) {
      // After combining, for the reason that AggregateAndSort gives.
      records = SparkLine.<K, C, C>externalSorter(context, Option.empty(), dependency.keyOrdering(),
          dependency.serializer()).insertAllAndUpdateMetrics(typed(records));
    }
    return new InterruptibleIterator<>(context, typed(records));
  }

  @SuppressWarnings("unchecked") // What the shuffle's serializer gives is what the shuffle is of.
  private Iterator<Product2<K, C>> typed(Iterator<?> records) {
    return (Iterator<Product2<K, C>>) records;
  }

  private DeserializedRecords fetch(SparkEnv env) {
    SerializerManager streams = env.serializerManager();
    FetchSettings settings = FetchSettings.of(env.conf());
    Iterator<?> byAddress = env.mapOutputTracker().getMapSizesByExecutorId(dependency.shuffleId(),
        range.startMapIndex(), range.endMapIndex(), range.startPartition(), range.endPartition());
    Iterator<Tuple2<BlockId, InputStream>> blocks = CountedBlocks.start(counts, metrics,
        reporter -> SparkLine.fetchIterator(context, client, env.blockManager(), env.mapOutputTracker(), byAddress,
            (id, stream) -> streams.wrapStream(id, stream), settings, reporter, batch(env.conf(), settings)));
    return new DeserializedRecords(blocks, dependency.serializer().newInstance(), context, metrics, counts);
  }

  /** Whether several partitions of one map output may be fetched, and read, as one stream. */
  private boolean batch(SparkConf conf, FetchSettings settings) {
    return SortShuffleManager.canUseBatchFetch(range.startPartition(), range.endPartition(), context)
        && settings.batchFetchAllowedForStreams()
        && dependency.serializer().supportsRelocationOfSerializedObjects()
        && (!conf.getBoolean("spark.shuffle.compress", true) || streamsConcatenate(conf));
  }

  private static boolean streamsConcatenate(SparkConf conf) {
    CompressionCodec$ codecs = CompressionCodec$.MODULE$;
    return codecs.supportsConcatenationOfSerializedStreams(codecs.createCodec(conf));
  }
}
