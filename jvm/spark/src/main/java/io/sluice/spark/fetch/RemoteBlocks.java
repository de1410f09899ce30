package io.sluice.spark.fetch;

import io.sluice.spark.metrics.ReadCounts;
import java.io.IOException;
import java.io.InputStream;
import org.apache.spark.storage.BlockId;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The blocks that Spark's fetch iterator brings, in the order of their arrival: from other hosts, and from
 * other executors of this host whose directories are not known yet. Its own failures are {@code FetchFailedException}s already and pass through.
 * Not thread-safe.
 */
public final class RemoteBlocks implements BlockInputs {
  private final Iterator<Tuple2<BlockId, InputStream>> fetched;
  private final FetchedStreams streams;
  private final BlockPlan plan;
  private final ReadCounts tally;
  private final byte[] staging = new byte[StreamBlockInput.STAGING_BYTES];

  /**
   * @param fetched already under way
   * @param streams what wraps the streams of {@code fetched}
   */
  public RemoteBlocks(Iterator<Tuple2<BlockId, InputStream>> fetched, FetchedStreams streams, BlockPlan plan,
      ReadCounts tally) {
    this.fetched = fetched;
    this.streams = streams;
    this.plan = plan;
    this.tally = tally;
  }

  @Override
  public BlockInput next() throws IOException {
    if (!fetched.hasNext()) {
      return null;
    }
    Tuple2<BlockId, InputStream> next = fetched.next();
    InputStream stream = next._2();
    FetchedStreams.Probe probe = streams.last();
    tally.remoteBlock();
    return new StreamBlockInput(plan.remoteBlock(next._1()), stream, streams.lastSizeBytes(), staging,
        corruption -> probe.diagnoseThrough(stream, corruption));
  }

  @Override
  public boolean nextIsAtHand() {
    return false;
  }

  @Override
  public void close() {
    // Spark's iterator cleans up after itself when it is exhausted or the task ends.
  }
}
