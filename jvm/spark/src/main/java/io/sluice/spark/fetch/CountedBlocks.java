package io.sluice.spark.fetch;

import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.transport.LeasedBuffer;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Function;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Spark's fetch iterator for a reader of Spark's own format, which opens the files of this executor too: it counts the
 * blocks and their bytes, which of them were read one-sidedly, and how long the reader waited for each.
 *
 * <p>The iterator tells its metrics of local blocks when it opens them, and of a remote block inside the {@code next()}
 * that returns it. One thread.
 */
public final class CountedBlocks extends AbstractIterator<Tuple2<BlockId, InputStream>> {
  private static final long NONE = -1;

  private final ReadCounts counts;
  private final ArrivedBlocks arrived = new ArrivedBlocks();
  private Iterator<Tuple2<BlockId, InputStream>> blocks;
  private long remoteBytes = NONE;

  private CountedBlocks(ReadCounts counts) {
    this.counts = counts;
  }

  /**
   * Starts a fetch.
   *
   * @param metrics the task's, to which everything is passed on that Spark counts
   * @param fetch starts Spark's iterator, with an {@link ArrivalTrackingClient} and these metrics
   */
  public static CountedBlocks start(ReadCounts counts, ShuffleReadMetricsReporter metrics,
      Function<ShuffleReadMetricsReporter, Iterator<Tuple2<BlockId, InputStream>>> fetch) {
    CountedBlocks counted = new CountedBlocks(counts);
    counted.blocks =
        ArrivalTrackingClient.reading(counted.arrived, () -> fetch.apply(counted.reporter(metrics)));
    return counted;
  }

  /** A proxy, because Spark lines differ in the methods of this interface. */
  private ShuffleReadMetricsReporter reporter(ShuffleReadMetricsReporter metrics) {
    return (ShuffleReadMetricsReporter) Proxy.newProxyInstance(
        ShuffleReadMetricsReporter.class.getClassLoader(), new Class<?>[] {ShuffleReadMetricsReporter.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("incLocalBytesRead")) {
            counts.localBlock((Long) arguments[0]);
          } else if (method.getName().equals("incRemoteBytesRead")) {
            remoteBytes = (Long) arguments[0];
          }
          try {
            return method.invoke(metrics, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
  }

  @Override
  public boolean hasNext() {
    return blocks.hasNext();
  }

  @Override
  public Tuple2<BlockId, InputStream> next() {
    remoteBytes = NONE;
    long start = System.nanoTime();
    Tuple2<BlockId, InputStream> next = ArrivalTrackingClient.reading(arrived, () -> blocks.next());
    if (remoteBytes != NONE) {
      counts.fetchWaited(System.nanoTime() - start);
      counts.remoteBlock(remoteBytes, arrived.take(next._1().name()) instanceof LeasedBuffer);
    }
    return next;
  }
}
