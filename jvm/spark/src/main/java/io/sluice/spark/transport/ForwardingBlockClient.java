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
 * A block store client that passes every call on to another one; subclasses change some of them.
 *
 * <p>Any thread. Uses none of its superclass's fields: their types differ between Spark lines.
 */
public abstract class ForwardingBlockClient extends BlockStoreClient {
  private final BlockStoreClient next;

  protected ForwardingBlockClient(BlockStoreClient next) {
    this.next = next;
  }

  @Override
  public void fetchBlocks(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener,
      DownloadFileManager downloadFileManager) {
    next.fetchBlocks(host, port, execId, blockIds, listener, downloadFileManager);
  }

  @Override
  public Cause diagnoseCorruption(String host, int port, String execId, int shuffleId, long mapId, int reduceId,
      long checksum, String algorithm) {
    return next.diagnoseCorruption(host, port, execId, shuffleId, mapId, reduceId, checksum, algorithm);
  }

  @Override
  public MetricSet shuffleMetrics() {
    return next.shuffleMetrics();
  }

  @Override
  public void setAppAttemptId(String appAttemptId) {
    next.setAppAttemptId(appAttemptId);
  }

  @Override
  public String getAppAttemptId() {
    return next.getAppAttemptId();
  }

  @Override
  public void getHostLocalDirs(String host, int port, String[] execIds,
      CompletableFuture<Map<String, String[]>> hostLocalDirsCompletable) {
    next.getHostLocalDirs(host, port, execIds, hostLocalDirsCompletable);
  }

  @Override
  public void pushBlocks(String host, int port, String[] blockIds, ManagedBuffer[] buffers,
      BlockPushingListener listener) {
    next.pushBlocks(host, port, blockIds, buffers, listener);
  }

  @Override
  public void finalizeShuffleMerge(String host, int port, int shuffleId, int shuffleMergeId,
      MergeFinalizerListener listener) {
    next.finalizeShuffleMerge(host, port, shuffleId, shuffleMergeId, listener);
  }

  @Override
  public void getMergedBlockMeta(String host, int port, int shuffleId, int shuffleMergeId, int reduceId,
      MergedBlocksMetaListener listener) {
    next.getMergedBlockMeta(host, port, shuffleId, shuffleMergeId, reduceId, listener);
  }

  /** From Spark 3.4 on; Spark 3.3 never calls it. */
  @Override
  public boolean removeShuffleMerge(String host, int port, int shuffleId, int shuffleMergeId) {
    return next.removeShuffleMerge(host, port, shuffleId, shuffleMergeId);
  }

  /** Nothing: the other client belongs to Spark. */
  @Override
  public void close() {}
}
