package io.sluice.systemtests;

import io.sluice.spark.conf.Settings;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.transport.PeerDiscovery;
import io.sluice.spark.transport.PeerUpdate;
import io.sluice.spark.transport.TransportSecret;
import io.sluice.spark.transport.TransportService;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/**
 * The client side of the one-sided transport, in this process and without the rest of an executor. It knows one peer,
 * and its stand-in for Spark's block transfer fails every block.
 */
final class TransportTestClient implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final String PEER = "owner";

  private final Counters counters = new Counters();
  private final List<String> fetchedByNetty = new ArrayList<>();
  private final TransportService service;
  private final PeerDiscovery discovery;
  private final BlockStoreClient client;

  private TransportTestClient(byte[] secret, byte[] peer) {
    Settings settings = Settings.from(new SparkConf(false).set("spark.sluice.transport", "ucx"));
    service = TransportService.open(settings.transport(), settings.mode(), secret, 1L << 30, counters).orElseThrow();
    discovery = PeerDiscovery.start("reader", () -> Optional.of(service),
        heartbeat -> new PeerUpdate(1, Map.of(PEER, peer), List.of()).toWire(),
        settings.transport().heartbeatIntervalMillis());
    client = service.client(new RefusingClient());
  }

  /** A client that knows {@code secret} and the peer at that address. */
  static TransportTestClient of(String secret, byte[] peer) {
    TransportTestClient reader = new TransportTestClient(TransportSecret.of(secret), peer);
    Await.until(LIMIT, () -> "the peer is not known", () -> reader.counted(Counter.TRANSPORT_PEERS_ANNOUNCED) > 0);
    return reader;
  }

  long counted(Counter counter) {
    return counters.get(counter);
  }

  /** The blocks that Spark's block transfer was asked for. */
  synchronized List<String> fetchedByNetty() {
    return List.copyOf(fetchedByNetty);
  }

  /** A block's bytes; empty when it could not be fetched. */
  Optional<byte[]> read(String block) throws Exception {
    Outcome outcome = new Outcome();
    client.fetchBlocks("nowhere", 0, PEER, new String[] {block}, outcome, null);
    return outcome.result.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    discovery.close();
    service.close();
  }

  private static final class Outcome implements BlockFetchingListener {
    private final CompletableFuture<Optional<byte[]>> result = new CompletableFuture<>();

    @Override
    public void onBlockFetchSuccess(String block, ManagedBuffer data) {
      try {
        ByteBuffer buffer = data.nioByteBuffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        result.complete(Optional.of(bytes));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void onBlockFetchFailure(String block, Throwable cause) {
      result.complete(Optional.empty());
    }
  }

  private final class RefusingClient extends BlockStoreClient {
    @Override
    public void fetchBlocks(String host, int port, String execId, String[] blockIds, BlockFetchingListener listener,
        DownloadFileManager downloads) {
      synchronized (TransportTestClient.this) {
        fetchedByNetty.addAll(List.of(blockIds));
      }
      for (String block : blockIds) {
        listener.onBlockFetchFailure(block, new IOException("refused"));
      }
    }

    @Override
    public void close() {}
  }
}
