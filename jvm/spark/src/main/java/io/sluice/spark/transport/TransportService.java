package io.sluice.spark.transport;

import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.nativebridge.TransportStatistics;
import io.sluice.spark.conf.Mode;
import io.sluice.spark.conf.Transport;
import io.sluice.spark.conf.TransportSettings;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.PeerReport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One executor's end of the one-sided transport: its published map outputs, the executors that it can read, and its
 * fetches under way.
 *
 * <pre>
 *   task: OneSidedBlockClient ── start ──→ pending ──→ BlockTransport ─┐
 *   thread sluice-transport:  listener ←── OneSidedFetch ←── poll ────┘
 *   threads sluice-transport-netty:            └── missed blocks ──→ Spark's block transfer
 * </pre>
 *
 * Any thread may call. No lock is held while Spark is called. When it is closed, or its thread ends for whatever
 * reason, all blocks under way are left to Spark's block transfer, and so is everything asked for afterwards.
 */
public final class TransportService implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TransportService.class);
  private static final int POLL_MILLIS = 200;
  private static final int COMPLETIONS_PER_POLL = 64;
  private static final long END_MILLIS = 5_000;
  /** So many early connections are opened, then others after a while: a thousand peers take a quarter of a minute. */
  private static final int CONNECTED_AT_ONCE = 16;

  private final BlockTransport transport;
  private final Counters counters;
  private final PeerTable peers;
  private final Publisher publisher;
  private final NettyFetches nettyFetches = new NettyFetches();
  private final MissedBlocks missedBlocks = new MissedBlocks();
  private final LongSupplier clockNanos;
  private final Thread poller;
  /** By the transport's request number; its monitor also orders a fetch's start against its completions. */
  private final Map<Long, OneSidedFetch> pending = new HashMap<>();
  /** The part of {@link BlockTransport#cmaBytes} that has been counted; used by the polling thread only. */
  private long cmaBytes;
  /** The most executors that are connected before something is wanted of them; 0: none. */
  private final long earlyConnections;
  private volatile boolean closed;
  private volatile Runnable onUnknownPeer = () -> {};

  TransportService(BlockTransport transport, Counters counters, long retryDelayNanos, long earlyConnections,
      LongSupplier clockNanos, DoubleSupplier spread) {
    this.earlyConnections = earlyConnections;
    this.transport = transport;
    this.counters = counters;
    this.clockNanos = clockNanos;
    this.peers = new PeerTable(transport, counters, retryDelayNanos, clockNanos, spread);
    this.publisher = new Publisher(transport, counters);
    this.poller = new Thread(this::pollUntilClosed, "sluice-transport");
    poller.setDaemon(true);
    poller.start();
  }

  /**
   * Opens UCX as the settings say; empty, with a line in the log, when it cannot be opened here. Where the mode asks
   * for RDMA and UCX uses none, a warning says so.
   *
   * @param mode the application's, for that warning
   * @param secret the secret that peers must prove to know; empty: none
   * @param receiveLimitBytes how much may have been received and not been released
   * @param directories where map outputs will be
   */
  public static Optional<TransportService> open(TransportSettings settings, Mode mode, byte[] secret,
      long receiveLimitBytes, Counters counters, String... directories) {
    try {
      NativeBlockTransport transport = NativeBlockTransport.open(settings, secret, receiveLimitBytes, directories);
      NetworkUse network = NetworkUse.of(transport.means());
      LOG.info("Blocks are read one-sidedly by {}; those of other hosts over {}", transport.describe(),
          network.describe());
      if (mode == Mode.RDMA) {
        network.missingRdma("spark.sluice.mode=RDMA").ifPresent(warning -> {
          counters.increment(Counter.TRANSPORT_WITHOUT_RDMA);
          LOG.warn(warning);
        });
      }
      return Optional.of(new TransportService(transport, counters, settings.retryDelayNanos(),
          settings.earlyStart() ? settings.maxConnections() / 2 : 0, System::nanoTime,
          () -> ThreadLocalRandom.current().nextDouble()));
    } catch (NativeException | LinkageError e) {
      counters.increment(Counter.TRANSPORT_UNAVAILABLE);
      String reason = e instanceof NativeException ? e.getMessage() : "the native library has no transport: " + e;
      if (settings.transport() == Transport.AUTO) {
        LOG.info("Blocks travel by Spark's block transfer, because UCX cannot be used here: {}", reason);
      } else {
        LOG.warn("spark.sluice.transport=ucx, but blocks travel by Spark's block transfer on this executor, because UCX"
            + " cannot be used here: {}", reason);
      }
      return Optional.empty();
    }
  }

  /** Spark's client with this transport in front of it. */
  public BlockStoreClient client(BlockStoreClient sparks) {
    return new OneSidedBlockClient(this, sparks);
  }

  /** Publishes this executor's map outputs to other executors. */
  public Publisher publisher() {
    return publisher;
  }

  /** Whether it was closed, or its thread ended: nothing is read from here or by this executor any more. */
  boolean hasEnded() {
    return closed;
  }

  /** The address at which other executors reach this one. */
  byte[] address() {
    return transport.address();
  }

  /** Applies the driver's changes of other executors. */
  void learn(PeerUpdate update) {
    if (!closed) {
      update.gone().forEach(peers::forget);
      update.announced().forEach(peers::learn);
    }
  }

  /** With {@code earlyStart}, connects some of the executors that are not connected yet; whether there are more. */
  boolean connectEarly() {
    return earlyConnections > 0 && !closed && peers.connectSome(CONNECTED_AT_ONCE, earlyConnections);
  }

  /** Sets the callback for a fetch from an executor that is not known yet; it runs on the fetching task's thread. */
  void onUnknownPeer(Runnable action) {
    onUnknownPeer = action;
  }

  /**
   * Starts a fetch: each of its blocks is delivered to the listener, or requested from Spark's client.
   *
   * @return null, or why it was not started: then the caller asks Spark
   */
  NettyReason start(OneSidedFetch fetch) {
    PeerTable.Link link = peers.link(fetch.executorId());
    if (link == null) {
      return refused(fetch.executorId());
    }
    fetch.startOn(link);
    long request;
    synchronized (pending) {
      if (closed) {
        return NettyReason.OTHER;
      }
      request = transport.fetch(link.number(), fetch.blocks());
      if (request > 0) {
        pending.put(request, fetch);
        return null;
      }
    }
    NettyReason reason = NettyReason.ofStatus(request);
    LOG.debug("Blocks of executor {} cannot be fetched one-sidedly: {}", fetch.executorId(), reason);
    noteFailure(fetch, reason);
    return reason;
  }

  private NettyReason refused(String executorId) {
    if (peers.knows(executorId)) {
      return NettyReason.PEER_FAILED;
    }
    onUnknownPeer.run();
    return NettyReason.UNKNOWN_PEER;
  }

  /**
   * The transport's statistics now, for metrics.
   *
   * @throws RuntimeException when it was closed
   */
  public TransportStatistics statistics() {
    return transport.statistics();
  }

  /** The state of the other executors, for the driver; names at most {@code mostNames} of those that failed. */
  public PeerReport peers(int mostNames) {
    return peers.report(mostNames);
  }

  void count(NettyReason reason, int blocks) {
    counters.add(reason.counter(), blocks);
  }

  private void pollUntilClosed() {
    long[] completions = new long[COMPLETIONS_PER_POLL * NativeTransport.COMPLETION_LONGS];
    try {
      while (!closed) {
        int count = transport.poll(completions, missedBlocks.millisUntilDue(clockNanos.getAsLong(), POLL_MILLIS));
        if (count < 0) {
          logEnd(count);
          return;
        }
        for (int i = 0; i < count; i++) {
          complete(completions, i * NativeTransport.COMPLETION_LONGS);
        }
        missedBlocks.takeDue(clockNanos.getAsLong()).forEach(this::leaveMissedToSpark);
        countCmaBytes();
      }
    } finally {
      leavePendingToSpark();
    }
  }

  private void countCmaBytes() {
    long now = transport.cmaBytes();
    if (now > cmaBytes) {
      counters.add(Counter.TRANSPORT_CMA_BYTES, now - cmaBytes);
      cmaBytes = now;
    }
  }

  private void logEnd(int reason) {
    if (!closed) {
      LOG.error("The one-sided transport ended, blocks travel by Spark's block transfer from now on: {} ({})",
          transport.lastError(), reason);
    }
  }

  private void complete(long[] completions, int at) {
    OneSidedFetch fetch;
    synchronized (pending) {
      fetch = pending.get(completions[at]);
    }
    int index = (int) completions[at + 1];
    long address = completions[at + 3];
    if (fetch == null || index < 0 || index >= fetch.size()) {
      LOG.error("A completion belongs to no block: request {}, block {}", completions[at], index);
      if (address != 0) {
        transport.release(address);
      }
      return;
    }
    try {
      settle(fetch, index, completions[at + 2], address, completions[at + 4]);
    } catch (RuntimeException e) {
      LOG.error("Settling block {} of request {} went wrong", index, completions[at], e);
    }
    if (fetch.isSettled()) {
      synchronized (pending) {
        pending.remove(completions[at]);
      }
      leaveMissedToSpark(fetch);
    }
  }

  private void settle(OneSidedFetch fetch, int index, long status, long address, long bytes) {
    if (status == 0) {
      if (fetch.received(index, new LeasedBuffer(address, bytes, transport::release))) {
        counters.increment(Counter.TRANSPORT_BLOCKS);
        counters.add(Counter.TRANSPORT_BYTES, bytes);
      }
      return;
    }
    NettyReason reason = NettyReason.ofStatus(status);
    noteFailure(fetch, reason);
    if (fetch.missed(index)) {
      if (fetch.missedCount() == 1) {
        missedBlocks.add(fetch, clockNanos.getAsLong());
      }
      count(reason, 1);
    }
  }

  private void noteFailure(OneSidedFetch fetch, NettyReason reason) {
    if (reason.isPeers()) {
      peers.failed(fetch.link());
    }
  }

  private void leaveMissedToSpark(OneSidedFetch fetch) {
    String[] missed = fetch.takeMissed();
    if (missed.length > 0) {
      nettyFetches.add(fetch, missed);
    }
  }

  /** Settles everything that no completion will come for. */
  private void leavePendingToSpark() {
    List<OneSidedFetch> left;
    synchronized (pending) {
      closed = true;
      left = new ArrayList<>(pending.values());
      pending.clear();
    }
    for (OneSidedFetch fetch : left) {
      count(NettyReason.OTHER, fetch.missedAll());
      leaveMissedToSpark(fetch);
    }
  }

  /** Ends the transport; blocks under way are left to Spark's block transfer. Twice is fine. */
  @Override
  public void close() {
    synchronized (pending) {
      closed = true;
    }
    publisher.close();
    transport.stop();
    try {
      poller.join(END_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    // The thread does it when it ends; it may still be in a listener that does not return.
    leavePendingToSpark();
    nettyFetches.close();
  }
}
