package io.sluice.spark.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/** Spark's client as the tests need it: serves each block as {@link #content}, or fails, and records the calls. */
final class FakeSparkClient extends BlockStoreClient {
  /** One call. */
  record Request(String host, int port, String executorId, List<String> ids, BlockFetchingListener listener,
      DownloadFileManager files, String thread) {}

  final List<Request> requests = new CopyOnWriteArrayList<>();
  volatile boolean failing;
  volatile RuntimeException throwing;
  volatile boolean closed;

  /** The content of a block that comes by Spark's block transfer. */
  static byte[] content(String id) {
    return ("by Spark: " + id).getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public void fetchBlocks(String host, int port, String execId, String[] ids, BlockFetchingListener listener,
      DownloadFileManager files) {
    requests.add(new Request(host, port, execId, List.of(ids), listener, files, Thread.currentThread().getName()));
    if (throwing != null) {
      throw throwing;
    }
    for (String id : ids) {
      if (failing) {
        listener.onBlockFetchFailure(id, new IOException("Spark has no " + id));
      } else {
        listener.onBlockFetchSuccess(id, new NioManagedBuffer(ByteBuffer.wrap(content(id))));
      }
    }
  }

  /** All blocks ever asked for. */
  List<String> asked() {
    return requests.stream().flatMap(request -> request.ids().stream()).sorted().toList();
  }

  @Override
  public void close() {
    closed = true;
  }
}
