package io.sluice.spark.metrics;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * How long the blocks took that an executor's readers have fetched since it started.
 *
 * @param all of all peers
 * @param slowest of the peers whose blocks take longest, the slowest first; an {@code ArrayList}, which is serializable
 */
public record FetchReport(LatencyCounts all, ArrayList<PeerLatency> slowest) implements Serializable {
  private static final long serialVersionUID = 1L;
  /** Nothing was fetched. */
  public static final FetchReport NONE = new FetchReport(LatencyCounts.NONE, new ArrayList<>());

  /** The peers, as what nobody changes. */
  public List<PeerLatency> peers() {
    return Collections.unmodifiableList(slowest);
  }
}
