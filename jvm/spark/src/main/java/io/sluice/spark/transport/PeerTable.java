package io.sluice.spark.transport;

import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.PeerReport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The executors that may be read one-sidedly, and the state of the connection to each. All methods may be called from
 * any thread; none waits.
 *
 * <pre>
 *   unknown ── learn ──→ announced ── link ──→ connected ── failed ──→ resting ── link, after the delay ──→ probed
 *      ↑ forget:                                   ↑                      ↑───── link, when it failed ────────┤
 *        from everywhere                           └──────────────────────────── link, when it is ready ──────┘
 * </pre>
 *
 * <p>An executor is connected when its blocks are first wanted, not when it announces itself: that would make n²
 * connections in an application of n executors, and is done only if {@code spark.sluice.transport.earlyStart} asks for
 * it. The first fetch begins the connection and waits for it, which takes milliseconds. The transport closes a
 * connection that has been idle and opens it again for the next fetch; to this table it stays connected.
 *
 * <p>A connection after a failure is a probe: blocks come by Spark's block transfer until it has been proven,
 * because a peer that Spark reaches and the transport does not (a firewall) would cost them the transport's timeout
 * each time. The first connection costs that timeout once.
 */
final class PeerTable {
  private static final Logger LOG = LoggerFactory.getLogger(PeerTable.class);
  private static final double NANOS_PER_SECOND = 1e9;
  /** How often the delay doubles: up to 16 times the setting. */
  private static final int MAX_DOUBLINGS = 4;

  private final BlockTransport transport;
  private final Counters counters;
  private final long retryDelayNanos;
  private final LongSupplier clockNanos;
  private final DoubleSupplier spread;
  private final Map<String, Peer> peers = new HashMap<>();
  private long nextNumber;

  /**
   * A connected peer as one fetch meets it.
   *
   * @param number the transport's name for it
   * @param episode which of its connections: a failure of an earlier one says nothing about this one
   */
  record Link(String executorId, long number, int episode) {}

  private enum State { ANNOUNCED, CONNECTED, RESTING, PROBED }

  private static final class Peer {
    private final long number;
    private final byte[] address;
    private State state = State.ANNOUNCED;
    private int episode;
    /** Failures since a connection was last seen ready. */
    private int failures;
    private boolean warnedOf;
    private long retryAtNanos;

    Peer(long number, byte[] address) {
      this.number = number;
      this.address = address;
    }
  }

  /**
   * @param clockNanos as {@link System#nanoTime}
   * @param spread random numbers from 0 to 1: by so many halves of it a delay is longer. When the driver or the network
   *     pauses, all executors lose all their peers at the same moment; they do not all connect again at the same one.
   */
  PeerTable(BlockTransport transport, Counters counters, long retryDelayNanos, LongSupplier clockNanos,
      DoubleSupplier spread) {
    this.transport = transport;
    this.counters = counters;
    this.retryDelayNanos = retryDelayNanos;
    this.clockNanos = clockNanos;
    this.spread = spread;
  }

  /** An executor announced its address. */
  synchronized void learn(String executorId, byte[] address) {
    Peer peer = peers.get(executorId);
    if (peer != null && Arrays.equals(peer.address, address)) {
      return;
    }
    forget(executorId);
    peers.put(executorId, new Peer(nextNumber++, address));
    counters.increment(Counter.TRANSPORT_PEERS_ANNOUNCED);
  }

  /** An executor was lost or withdrawn: its fetches in flight fail. */
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

  /**
   * The way to an executor; null when it is unknown, failed or being probed. One that was not connected yet is
   * connected; one that failed long enough ago is probed from now on.
   */
  synchronized Link link(String executorId) {
    Peer peer = peers.get(executorId);
    if (peer == null) {
      return null;
    }
    switch (peer.state) {
      case ANNOUNCED -> connect(executorId, peer, State.CONNECTED);
      case RESTING -> probeWhenItIsTime(executorId, peer);
      case PROBED -> lookAtProbe(executorId, peer);
      case CONNECTED -> {}
    }
    return peer.state == State.CONNECTED ? new Link(executorId, peer.number, peer.episode) : null;
  }

  /**
   * Connects some executors that have announced themselves and that nothing was wanted of yet. Each executor takes them
   * from another place on, so that not all of them connect to the same ones at once.
   *
   * @param most how many of them
   * @param limit no more than so many are connected
   * @return whether there are more
   */
  synchronized boolean connectSome(int most, long limit) {
    List<String> announced = new ArrayList<>();
    long room = limit;
    for (Map.Entry<String, Peer> entry : peers.entrySet()) {
      if (entry.getValue().state == State.ANNOUNCED) {
        announced.add(entry.getKey());
      } else if (entry.getValue().state == State.CONNECTED) {
        room--;
      }
    }
    int count = (int) Math.min(Math.min(most, announced.size()), Math.max(0, room));
    int first = (int) (spread.getAsDouble() * announced.size());
    for (int i = 0; i < count; i++) {
      String executorId = announced.get((first + i) % announced.size());
      connect(executorId, peers.get(executorId), State.CONNECTED);
    }
    return count == most && count < announced.size() && count < room;
  }

  /** How many executors are in which state, for the driver; names at most {@code mostNames} of those that failed. */
  synchronized PeerReport report(int mostNames) {
    int connected = 0;
    int failed = 0;
    ArrayList<String> names = new ArrayList<>();
    for (Map.Entry<String, Peer> entry : peers.entrySet()) {
      State state = entry.getValue().state;
      connected += state == State.CONNECTED ? 1 : 0;
      if (state == State.RESTING || state == State.PROBED) {
        failed++;
        if (names.size() < mostNames) {
          names.add(entry.getKey());
        }
      }
    }
    return new PeerReport(peers.size(), connected, failed, names);
  }

  private void probeWhenItIsTime(String executorId, Peer peer) {
    if (clockNanos.getAsLong() - peer.retryAtNanos >= 0) {
      connect(executorId, peer, State.PROBED);
    }
  }

  private void lookAtProbe(String executorId, Peer peer) {
    int state = transport.peerState(peer.number);
    if (state < 0) {
      fail(executorId, peer, transport.peerError(peer.number));
    } else if (state == NativeTransport.PEER_READY) {
      peer.state = State.CONNECTED;
      peer.failures = 0;
      LOG.debug("Executor {} is read one-sidedly again", executorId);
    }
  }

  /** A fetch found that the peer failed; a peer already marked as failed is not changed. */
  synchronized void failed(Link link) {
    Peer peer = peers.get(link.executorId());
    if (peer != null && peer.number == link.number() && peer.state == State.CONNECTED
        && peer.episode == link.episode()) {
      fail(link.executorId(), peer, transport.peerError(peer.number));
    }
  }

  private void connect(String executorId, Peer peer, State state) {
    peer.episode++;
    peer.state = state;
    if (transport.connect(peer.number, peer.address) < 0) {
      fail(executorId, peer, transport.lastError());
      return;
    }
    counters.increment(Counter.TRANSPORT_PEERS_CONNECTED);
    LOG.debug("Executor {} is peer {}, connection {}", executorId, peer.number, peer.episode);
  }

  private void fail(String executorId, Peer peer, String reason) {
    long leastNanos = retryDelayNanos << Math.min(peer.failures, MAX_DOUBLINGS);
    long delayNanos = leastNanos + (long) (leastNanos / 2 * spread.getAsDouble());
    peer.state = State.RESTING;
    peer.failures++;
    peer.retryAtNanos = clockNanos.getAsLong() + delayNanos;
    counters.increment(Counter.TRANSPORT_PEER_FAILURES);
    String text =
        "Executor {} cannot be read one-sidedly: {}. Its blocks travel by Spark's block transfer for {} s, then it"
            + " is tried again{}";
    double seconds = delayNanos / NANOS_PER_SECOND;
    if (peer.warnedOf) {
      LOG.debug(text, executorId, reason, seconds, "");
    } else {
      LOG.warn(text, executorId, reason, seconds, " (said once; when it fails again, at debug level)");
      peer.warnedOf = true;
    }
  }
}
