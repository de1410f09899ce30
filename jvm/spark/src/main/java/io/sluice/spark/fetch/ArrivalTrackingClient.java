package io.sluice.spark.fetch;

import io.sluice.spark.transport.ForwardingBlockClient;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/**
 * A block store client that counts in {@link ArrivedBlocks} every block that it delivers to Spark's fetch iterator. Any
 * thread.
 */
final class ArrivalTrackingClient extends ForwardingBlockClient {
  private final ArrivedBlocks arrived;

  ArrivalTrackingClient(BlockStoreClient next, ArrivedBlocks arrived) {
    super(next);
    this.arrived = arrived;
  }

  @Override
  public void fetchBlocks(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener,
      DownloadFileManager downloadFileManager) {
    super.fetchBlocks(host, port, execId, blockIds, new Listener(listener, arrived), downloadFileManager);
  }

  private record Listener(BlockFetchingListener sparks, ArrivedBlocks arrived) implements BlockFetchingListener {
    @Override
    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
      arrived.arriving(blockId, data);
      sparks.onBlockFetchSuccess(blockId, data);
      arrived.arrived();
    }

    @Override
    public void onBlockFetchFailure(String blockId, Throwable exception) {
      sparks.onBlockFetchFailure(blockId, exception);
      arrived.failed();
    }
  }
}
