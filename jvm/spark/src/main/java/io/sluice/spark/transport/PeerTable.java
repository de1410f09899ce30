package io.sluice.spark.transport;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The executors that may be read one-sidedly, and how each is doing. All methods may be called from any thread; none
 * waits.
 *
 * <pre>
 *   unknown ── learn ──→ connected ── failed ──→ failed until ── link, after the delay ──→ connected
 *      ↑ forget: from everywhere
 * </pre>
 */
final class PeerTable {
  private static final Logger LOG = LoggerFactory.getLogger(PeerTable.class);
  private static final double NANOS_PER_SECOND = 1e9;

  private final BlockTransport transport;
  private final Counters counters;
  private final long retryDelayNanos;
  private final LongSupplier clockNanos;
  private final Map<String, Peer> peers = new HashMap<>();
  private long nextNumber;

  /**
   * A connected peer as one fetch meets it.
   *
   * @param number the transport's name for it
   * @param episode which of its connections: a failure of an earlier one says nothing about this one
   */
  record Link(String executorId, long number, int episode) {}

  private static final class Peer {
    private final long number;
    private final byte[] address;
    private int episode;
    private boolean connected;
    private boolean warnedOf;
    private long retryAtNanos;

    Peer(long number, byte[] address) {
      this.number = number;
      this.address = address;
    }
  }

  /** @param clockNanos as {@link System#nanoTime} */
  PeerTable(BlockTransport transport, Counters counters, long retryDelayNanos, LongSupplier clockNanos) {
    this.transport = transport;
    this.counters = counters;
    this.retryDelayNanos = retryDelayNanos;
    this.clockNanos = clockNanos;
  }

  /** An executor announced its address: connects to it, unless that is known already. */
  synchronized void learn(String executorId, byte[] address) {
    Peer peer = peers.get(executorId);
    if (peer != null && Arrays.equals(peer.address, address)) {
      return;
    }
    forget(executorId);
    Peer fresh = new Peer(nextNumber++, address);
    peers.put(executorId, fresh);
    connect(executorId, fresh);
  }

  /** An executor is gone: its fetches under way fail. */
  synchronized void forget(String executorId) {
    Peer peer = peers.remove(executorId);
    if (peer != null) {
      transport.disconnect(peer.number);
    }
  }

  /** Whether the executor has announced itself and is not gone. */
  synchronized boolean knows(String executorId) {
    return peers.containsKey(executorId);
  }

  /** The way to an executor; null when it is unknown or failed. One that failed long enough ago is tried again. */
  synchronized Link link(String executorId) {
    Peer peer = peers.get(executorId);
    if (peer == null) {
      return null;
    }
    if (!peer.connected && clockNanos.getAsLong() - peer.retryAtNanos >= 0) {
      connect(executorId, peer);
    }
    return peer.connected ? new Link(executorId, peer.number, peer.episode) : null;
  }

  /** A fetch found that the peer failed; what is already known to have failed stays as it is. */
  synchronized void failed(Link link) {
    Peer peer = peers.get(link.executorId());
    if (peer != null && peer.number == link.number() && peer.connected && peer.episode == link.episode()) {
      fail(link.executorId(), peer, transport.peerError(peer.number));
    }
  }

  private void connect(String executorId, Peer peer) {
    peer.episode++;
    peer.connected = true;
    if (transport.connect(peer.number, peer.address) < 0) {
      fail(executorId, peer, transport.lastError());
      return;
    }
    counters.increment(Counter.TRANSPORT_PEERS_CONNECTED);
    LOG.debug("Executor {} is peer {}, connection {}", executorId, peer.number, peer.episode);
  }

  private void fail(String executorId, Peer peer, String reason) {
    peer.connected = false;
    peer.retryAtNanos = clockNanos.getAsLong() + retryDelayNanos;
    counters.increment(Counter.TRANSPORT_PEER_FAILURES);
    String text = "Executor {} cannot be read one-sidedly: {}. Its blocks travel by Spark's block transfer for {} s, then it"
        + " is tried again{}";
    double seconds = retryDelayNanos / NANOS_PER_SECOND;
    if (peer.warnedOf) {
      LOG.debug(text, executorId, reason, seconds, "");
    } else {
      LOG.warn(text, executorId, reason, seconds, " (said once; when it fails again, at debug level)");
      peer.warnedOf = true;
    }
  }
}
