package io.sluice.spark.fetch;

import io.sluice.spark.SluiceException;
import io.sluice.spark.memory.AddressBuffer;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.seal.PositionedBytes;
import io.sluice.spark.transport.LeasedBuffer;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockId;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The blocks that Spark's fetch iterator brings, in the order of their arrival: from other hosts, and from
 * other executors of this host whose directories are not known yet. Its own failures are {@code FetchFailedException}s
 * already and pass through. Not thread-safe.
 *
 * <p>Spark's iterator waits for the network without looking at the task. So this waits for the arrival first, and looks
 * ten times a second whether the task was killed or has ended: then the reader's thread, whichever it is, gets an
 * exception.
 */
public final class RemoteBlocks implements BlockInputs {
  private static final long LOOK_EVERY_MILLIS = 100;
  /** By then Spark's client has answered or failed; the wait continues inside Spark's iterator. */
  private static final long MOST_MILLIS = TimeUnit.MINUTES.toMillis(10);

  private final FetchedBlocks fetched;
  private final TaskContext context;
  private final BlockPlan plan;
  private final LocalBlockStore store;
  private final ReadCounts counts;
  private final AddressBuffer target = new AddressBuffer();
  private byte[] staging;

  /**
   * The blocks of Spark's fetch iterator, and how to read them.
   *
   * @param iterator already under way
   * @param streams wraps the streams of {@code iterator}
   * @param arrived counts the blocks that its client has delivered
   * @param allByClient whether it gets every block through that client, and opens none as a file of this host
   */
  record FetchedBlocks(Iterator<Tuple2<BlockId, InputStream>> iterator, FetchedStreams streams, ArrivedBlocks arrived,
      boolean allByClient) {}

  /** @param store where blocks are looked up that the iterator has opened as files of this host */
  RemoteBlocks(FetchedBlocks fetched, TaskContext context, BlockPlan plan, LocalBlockStore store, ReadCounts counts) {
    this.fetched = fetched;
    this.context = context;
    this.plan = plan;
    this.store = store;
    this.counts = counts;
  }

  @Override
  public BlockInput next() throws IOException {
    if (!fetched.iterator().hasNext()) {
      return null;
    }
    long start = System.nanoTime();
    if (fetched.allByClient()) {
      awaitArrival();
    }
    Tuple2<BlockId, InputStream> next =
        ArrivalTrackingClient.reading(fetched.arrived(), () -> fetched.iterator().next());
    counts.fetchWaited(System.nanoTime() - start);
    ManagedBuffer buffer = fetched.arrived().take(next._1().name());
    counts.remoteBlock(Math.max(0, fetched.streams().lastSizeBytes()), buffer instanceof LeasedBuffer);
    return input(plan.remoteBlock(next._1()), next._2(), buffer);
  }

  /** @param buffer of the block; null when it is not known */
  private BlockInput input(ShuffleBlock block, InputStream stream, ManagedBuffer buffer) throws IOException {
    FetchedStreams streams = fetched.streams();
    FetchedStreams.Probe probe = streams.last();
    long sizeBytes = streams.lastSizeBytes();
    FetchedBytes bytes =
        buffer == null || streams.checksFrames() ? null : FetchedBytes.of(buffer, BlockInput.UNKNOWN);
    if (bytes != null) {
      return new BufferBlockInput(
          block, bytes, stream, target, corruption -> probe.diagnoseThrough(stream, corruption));
    }
    staging = staging == null ? new byte[StreamBlockInput.STAGING_BYTES] : staging;
    return new StreamBlockInput(block, stream, sizeBytes, staging,
        corruption -> probe.diagnoseThrough(stream, corruption), () -> again(block, buffer, sizeBytes));
  }

  /**
   * The bytes once more of a block that is read as a stream: one that Spark has read a part of already, that was
   * fetched to a file, or that it has opened as a file of this host.
   */
  private PositionedBytes again(ShuffleBlock block, ManagedBuffer buffer, long sizeBytes) throws IOException {
    if (buffer == null) {
      return store.reads(block.address()) ? new ReopenedStream(() -> store.find(block).createInputStream()) : null;
    }
    FetchedBytes bytes = FetchedBytes.of(buffer, sizeBytes);
    return bytes == null ? new ReopenedStream(buffer::createInputStream) : bytes;
  }

  private void awaitArrival() {
    if (fetched.arrived().isNextAtHand()) {
      return;
    }
    long start = System.nanoTime();
    try {
      long waited = 0;
      while (!fetched.arrived().await(LOOK_EVERY_MILLIS) && waited < MOST_MILLIS) {
        stopIfTaskHasEnded();
        waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      stopIfTaskHasEnded();
      throw new SluiceException("interrupted while waiting for a shuffle block to arrive", e);
    } finally {
      fetched.streams().reporter().incFetchWaitTime(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
    }
  }

  private void stopIfTaskHasEnded() {
    context.killTaskIfInterrupted();
    if (context.isCompleted()) {
      throw new SluiceException("the task ended while its reader waited for a shuffle block to arrive");
    }
  }

  /** False with Spark's check of blocks before it returns them: it may then fetch one again, and wait for it. */
  @Override
  public boolean nextHasArrived() {
    return fetched.arrived().isNextAtHand() && !fetched.streams().checksFrames();
  }

  @Override
  public void close() {
    // Spark's iterator cleans up after itself when it is exhausted or the task ends.
  }
}
