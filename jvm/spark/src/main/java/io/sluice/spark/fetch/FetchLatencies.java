package io.sluice.spark.fetch;

import io.sluice.spark.metrics.FetchReport;
import io.sluice.spark.metrics.LatencyHistogram;
import io.sluice.spark.metrics.PeerLatency;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * How long the blocks that readers of this executor fetch are under way: from the request until Spark's fetch iterator
 * is given the block, one-sidedly read or by Spark's block transfer. Of all executors together and of each. Blocks that
 * never come are not in it. Any thread.
 */
public final class FetchLatencies {
  /** Executors that are lost and replaced for ever must not fill the memory; a histogram has about 700 bytes. */
  private static final int MOST_PEERS = 2_000;

  private final LatencyHistogram all = new LatencyHistogram();
  private final ConcurrentMap<String, LatencyHistogram> byPeer = new ConcurrentHashMap<>();

  /**
   * The blocks of one executor.
   *
   * @param slowNanos the percentile by which it was chosen
   */
  public record Peer(String executorId, LatencyHistogram blocks, long slowNanos) {}

  /** Of all executors. */
  public LatencyHistogram all() {
    return all;
  }

  /** Of one executor; null when there are too many. */
  LatencyHistogram of(String executorId) {
    LatencyHistogram known = byPeer.get(executorId);
    if (known != null || byPeer.size() >= MOST_PEERS) {
      return known;
    }
    return byPeer.computeIfAbsent(executorId, id -> new LatencyHistogram());
  }

  /**
   * The executors whose blocks take longest, the slowest first.
   *
   * @param most how many at most
   * @param share by this percentile
   */
  public List<Peer> slowest(int most, double share) {
    List<Peer> peers = new ArrayList<>();
    byPeer.forEach((id, blocks) -> {
      if (blocks.count() > 0) {
        peers.add(new Peer(id, blocks, blocks.percentile(share)));
      }
    });
    peers.sort(Comparator.comparingLong(Peer::slowNanos).reversed().thenComparing(Peer::executorId));
    return peers.subList(0, Math.min(most, peers.size()));
  }

  /**
   * For the driver.
   *
   * @param mostPeers how many of the slowest executors are in it
   * @param share by this percentile
   */
  public FetchReport report(int mostPeers, double share) {
    ArrayList<PeerLatency> slowest = new ArrayList<>();
    slowest(mostPeers, share).forEach(peer -> slowest.add(new PeerLatency(peer.executorId(), peer.blocks().coarse())));
    return new FetchReport(all.coarse(), slowest);
  }
}
