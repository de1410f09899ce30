package io.sluice.spark.ui;

import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.PeerLatency;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How long fetched blocks took, of all executors together: by bucket, and by the executor that they came from. Readers
 * report their slowest peers only, five at most, so a peer's blocks are those of the readers that found it slow.
 */
final class FetchTimes {
  /** A percentile by which peers are called slow. */
  static final double SLOW = 0.95;

  private final LatencyCounts all;
  private final List<Peer> peers;

  /**
   * @param readers how many executors named it among their slowest
   * @param ofReaders what those executors fetched from everybody
   */
  record Peer(String executorId, int readers, LatencyCounts blocks, LatencyCounts ofReaders) {}

  private FetchTimes(LatencyCounts all, List<Peer> peers) {
    this.all = all;
    this.peers = peers;
  }

  static FetchTimes of(List<ExecutorRow> executors) {
    LatencyCounts all = LatencyCounts.NONE;
    Map<String, Peer> peers = new HashMap<>();
    for (ExecutorRow row : executors) {
      all = all.plus(row.fetches());
      for (PeerLatency slow : row.slowestPeers()) {
        peers.merge(slow.executorId(), new Peer(slow.executorId(), 1, slow.blocks(), row.fetches()), FetchTimes::plus);
      }
    }
    List<Peer> sorted = new ArrayList<>(peers.values());
    sorted.sort(Comparator.comparingLong((Peer peer) -> peer.blocks().percentile(SLOW))
        .thenComparingLong(peer -> peer.blocks().totalNanos()).reversed().thenComparing(Peer::executorId));
    return new FetchTimes(all, Collections.unmodifiableList(sorted));
  }

  private static Peer plus(Peer one, Peer other) {
    return new Peer(one.executorId(), one.readers() + other.readers(), one.blocks().plus(other.blocks()),
        one.ofReaders().plus(other.ofReaders()));
  }

  /** Of all executors' readers, from all executors. */
  LatencyCounts all() {
    return all;
  }

  /** The slowest first. */
  List<Peer> peers() {
    return peers;
  }
}
