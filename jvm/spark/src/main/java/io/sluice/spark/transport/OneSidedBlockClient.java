package io.sluice.spark.transport;

import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/**
 * A block store client that reads shuffle blocks one-sidedly where it can. Blocks that cannot be read so, from the
 * start or in the middle of a request, it requests from Spark's own client, with the same listener; Spark hears of a
 * failure only when that fails too. All other calls go to Spark's client.
 *
 * <p>Any thread.
 */
final class OneSidedBlockClient extends ForwardingBlockClient {
  private final TransportService service;
  private final BlockStoreClient sparks;

  OneSidedBlockClient(TransportService service, BlockStoreClient sparks) {
    super(sparks);
    this.service = service;
    this.sparks = sparks;
  }

  @Override
  public void fetchBlocks(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener,
      DownloadFileManager downloadFileManager) {
    NettyReason reason = downloadFileManager == null
        ? start(host, port, execId, blockIds, listener)
        : NettyReason.TO_DISK;
    if (reason != null) {
      service.count(reason, blockIds.length);
      sparks.fetchBlocks(host, port, execId, blockIds, listener, downloadFileManager);
    }
  }

  /** Starts a one-sided fetch; else says why not. */
  private NettyReason start(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener) {
    long[] blocks = BlockRange.ofAll(blockIds);
    if (blocks == null || blockIds.length == 0) {
      return NettyReason.OTHER;
    }
    return service.start(new OneSidedFetch(execId, blockIds, blocks, listener,
        (missed, to) -> sparks.fetchBlocks(host, port, execId, missed, to, null)));
  }
}
