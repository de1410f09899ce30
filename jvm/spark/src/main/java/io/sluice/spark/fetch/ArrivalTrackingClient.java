package io.sluice.spark.fetch;

import io.sluice.spark.metrics.LatencyHistogram;
import io.sluice.spark.transport.ForwardingBlockClient;
import java.util.function.Supplier;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/**
 * A block store client that counts every block that it delivers to Spark's fetch iterator, in the {@link ArrivedBlocks}
 * of the reader that asked for it, and how long it took, in {@link FetchLatencies}. An executor has one: the
 * constructor of Spark's clients looks up a logger, which takes about as long as sending the requests of a small task.
 * Any thread.
 */
public final class ArrivalTrackingClient extends ForwardingBlockClient {
  /** Of the reader that uses its iterator on this thread now: iterators send requests on the thread of their caller. */
  private static final ThreadLocal<ArrivedBlocks> READER = new ThreadLocal<>();

  private final FetchLatencies latencies;

  public ArrivalTrackingClient(BlockStoreClient next, FetchLatencies latencies) {
    super(next);
    this.latencies = latencies;
  }

  /** Calls an iterator of the reader whose blocks are counted in {@code arrived}. */
  static <T> T reading(ArrivedBlocks arrived, Supplier<T> call) {
    ArrivedBlocks outer = READER.get();
    READER.set(arrived);
    try {
      return call.get();
    } finally {
      if (outer == null) {
        READER.remove();
      } else {
        READER.set(outer);
      }
    }
  }

  @Override
  public void fetchBlocks(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener,
      DownloadFileManager downloadFileManager) {
    ArrivedBlocks arrived = READER.get();
    super.fetchBlocks(host, port, execId, blockIds,
        new Listener(listener, arrived, latencies.all(), latencies.of(execId), System.nanoTime()), downloadFileManager);
  }

  /**
   * The listener of one request.
   *
   * @param arrived null when no reader counts arrivals
   * @param ofPeer latencies of the executor that is asked; null for none
   * @param startNanos when it was asked
   */
  private record Listener(BlockFetchingListener sparks, ArrivedBlocks arrived, LatencyHistogram ofAll,
      LatencyHistogram ofPeer, long startNanos) implements BlockFetchingListener {
    @Override
    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
      long nanos = System.nanoTime() - startNanos;
      ofAll.add(nanos);
      if (ofPeer != null) {
        ofPeer.add(nanos);
      }
      if (arrived == null) {
        sparks.onBlockFetchSuccess(blockId, data);
      } else {
        arrived.arriving(blockId, data);
        sparks.onBlockFetchSuccess(blockId, data);
        arrived.arrived();
      }
    }

    @Override
    public void onBlockFetchFailure(String blockId, Throwable exception) {
      sparks.onBlockFetchFailure(blockId, exception);
      if (arrived != null) {
        arrived.failed();
      }
    }
  }
}
