package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.transport.ForwardingBlockClient;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.junit.jupiter.api.Test;

/** Readers that share an executor's client: each one's blocks are counted for it, whoever delivers them. */
class ArrivalTrackingClientTest {
  private static final long SLOW_MILLIS = 300;
  private static final ManagedBuffer BYTES = new NioManagedBuffer(ByteBuffer.allocate(1));

  private final Map<String, BlockFetchingListener> requests = new HashMap<>();
  private final FetchLatencies latencies = new FetchLatencies();
  private final ArrivalTrackingClient client = new ArrivalTrackingClient(new ForwardingBlockClient(null) {
    @Override
    public void fetchBlocks(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener,
        DownloadFileManager downloadFileManager) {
      requests.put(blockIds[0], listener);
    }
  }, latencies);

  private Void request(String block, BlockFetchingListener listener) {
    return request("1", block, listener);
  }

  private Void request(String executorId, String block, BlockFetchingListener listener) {
    client.fetchBlocks("host", 1, executorId, new String[] {block}, listener, null);
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
  void requestsOfNoReaderPassToo() {
    List<String> heard = new ArrayList<>();
    BlockFetchingListener listener = new BlockFetchingListener() {
      @Override
      public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
        heard.add(blockId + " came");
      }

      @Override
      public void onBlockFetchFailure(String blockId, Throwable exception) {
        heard.add(blockId + " failed");
      }
    };
    request("c", listener);
    request("d", listener);
    deliver("c");
    requests.get("d").onBlockFetchFailure("d", new IllegalStateException("on purpose"));
    assertEquals(List.of("c came", "d failed"), heard);
  }

  @Test
  void theTimeUntilABlockComesIsKeptForAllExecutorsAndForEach() throws InterruptedException {
    request("fast", "a", new Ignoring());
    deliver("a");
    request("slow", "b", new Ignoring());
    request("slow", "c", new Ignoring());
    request("silent", "d", new Ignoring());
    Thread.sleep(SLOW_MILLIS);
    deliver("b");
    requests.get("c").onBlockFetchFailure("c", new IllegalStateException("on purpose"));
    assertEquals(2, latencies.all().count(), "blocks that came");
    assertTrue(latencies.all().longest() >= TimeUnit.MILLISECONDS.toNanos(SLOW_MILLIS), "the longest");
    List<FetchLatencies.Peer> slowest = latencies.slowest(5, 0.95);
    assertEquals(List.of("slow", "fast"), slowest.stream().map(FetchLatencies.Peer::executorId).toList());
    assertEquals(1, slowest.get(0).blocks().count());
    assertEquals("slow", latencies.slowest(1, 0.95).get(0).executorId());
  }

  private static final class Ignoring implements BlockFetchingListener {
    @Override
    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {}

    @Override
    public void onBlockFetchFailure(String blockId, Throwable exception) {}
  }
}
