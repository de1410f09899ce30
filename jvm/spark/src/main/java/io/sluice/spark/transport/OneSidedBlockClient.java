package io.sluice.spark.transport;

import com.codahale.metrics.MetricSet;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockPushingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.MergeFinalizerListener;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;

/**
 * Spark's client of block stores, which reads shuffle blocks one-sidedly where it can. What cannot be read so, from the
 * start or in the middle of a job, is asked for from Spark's own client, with the same listener; only when that fails
 * too does Spark hear of a failure. All else is Spark's client's.
 *
 * <p>Any thread. Uses none of its superclass's fields: their types differ between Spark lines.
 */
final class OneSidedBlockClient extends BlockStoreClient {
  private final TransportService service;
  private final BlockStoreClient sparks;

  OneSidedBlockClient(TransportService service, BlockStoreClient sparks) {
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

  @Override
  public Cause diagnoseCorruption(String host, int port, String execId, int shuffleId, long mapId, int reduceId,
      long checksum, String algorithm) {
    return sparks.diagnoseCorruption(host, port, execId, shuffleId, mapId, reduceId, checksum, algorithm);
  }

  @Override
  public MetricSet shuffleMetrics() {
    return sparks.shuffleMetrics();
  }

  @Override
  public void setAppAttemptId(String appAttemptId) {
    sparks.setAppAttemptId(appAttemptId);
  }

  @Override
  public String getAppAttemptId() {
    return sparks.getAppAttemptId();
  }

  @Override
  public void getHostLocalDirs(String host, int port, String[] execIds,
      CompletableFuture<Map<String, String[]>> hostLocalDirsCompletable) {
    sparks.getHostLocalDirs(host, port, execIds, hostLocalDirsCompletable);
  }

  @Override
  public void pushBlocks(String host, int port, String[] blockIds, ManagedBuffer[] buffers,
      BlockPushingListener listener) {
    sparks.pushBlocks(host, port, blockIds, buffers, listener);
  }

  @Override
  public void finalizeShuffleMerge(String host, int port, int shuffleId, int shuffleMergeId,
      MergeFinalizerListener listener) {
    sparks.finalizeShuffleMerge(host, port, shuffleId, shuffleMergeId, listener);
  }

  @Override
  public void getMergedBlockMeta(String host, int port, int shuffleId, int shuffleMergeId, int reduceId,
      MergedBlocksMetaListener listener) {
    sparks.getMergedBlockMeta(host, port, shuffleId, shuffleMergeId, reduceId, listener);
  }

  /** From Spark 3.4 on; on 3.3 nobody calls it. */
  @Override
  public boolean removeShuffleMerge(String host, int port, int shuffleId, int shuffleMergeId) {
    return sparks.removeShuffleMerge(host, port, shuffleId, shuffleMergeId);
  }

  /** Nothing: Spark's client belongs to Spark. */
  @Override
  public void close() {
  }
}
