package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.transport.ForwardingBlockClient;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.junit.jupiter.api.Test;

/** Readers that share an executor's client: each one's blocks are counted for it, whoever delivers them. */
class ArrivalTrackingClientTest {
  private static final ManagedBuffer BYTES = new NioManagedBuffer(ByteBuffer.allocate(1));

  private final Map<String, BlockFetchingListener> requests = new HashMap<>();
  private final ArrivalTrackingClient client = new ArrivalTrackingClient(new ForwardingBlockClient(null) {
    @Override
    public void fetchBlocks(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener,
        DownloadFileManager downloadFileManager) {
      requests.put(blockIds[0], listener);
    }
  });

  private Void request(String block, BlockFetchingListener listener) {
    client.fetchBlocks("host", 1, "1", new String[] {block}, listener, null);
    return null;
  }

  private void deliver(String block) {
    requests.get(block).onBlockFetchSuccess(block, BYTES);
  }

  @Test
  void eachReadersBlocksAreCountedForIt() throws InterruptedException {
    ArrivedBlocks one = new ArrivedBlocks();
    ArrivedBlocks other = new ArrivedBlocks();
    ArrivalTrackingClient.reading(one, () -> {
      ArrivalTrackingClient.reading(other, () -> request("b", new Ignoring()));
      return request("a", new Ignoring());
    });
    Thread network = new Thread(() -> deliver("b"));
    network.start();
    network.join();
    assertTrue(other.isNextAtHand());
    assertFalse(one.isNextAtHand());
    ArrivalTrackingClient.reading(other, () -> {
      deliver("a");
      return null;
    });
    assertSame(BYTES, one.take("a"));
    assertNull(other.take("a"));
    assertSame(BYTES, other.take("b"));
  }

  @Test
  void requestsOfNoReaderPassAsTheyAre() {
    BlockFetchingListener listener = new Ignoring();
    request("c", listener);
    assertSame(listener, requests.get("c"));
  }

  private static final class Ignoring implements BlockFetchingListener {
    @Override
    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {}

    @Override
    public void onBlockFetchFailure(String blockId, Throwable exception) {}
  }
}
