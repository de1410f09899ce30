package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.metrics.PeerLatency;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * How long the blocks took that an executor's readers have fetched since it started: of all other executors, and of
 * those that are slowest. A later event replaces an earlier one of the same executor.
 */
public final class ExecutorLatencies extends SluiceEvent {
  /** So that an event has at most a kilobyte. */
  private static final int MOST_BYTES = 960;
  /** Of the event and of each peer without numbers and ids. */
  private static final int BYTES_AROUND = 160;
  private static final int BYTES_AROUND_PEER = 80;

  private final String executorId;
  private final LatencyCounts all;
  private final List<PeerLatency> slowest;

  @JsonCreator
  ExecutorLatencies(@JsonProperty("version") int version, @JsonProperty("executorId") String executorId,
      @JsonProperty("all") LatencyCounts all, @JsonProperty("slowest") List<PeerLatency> slowest) {
    super(version);
    this.executorId = executorId;
    this.all = all == null ? LatencyCounts.NONE : all;
    this.slowest = slowest == null ? Collections.emptyList() : slowest;
  }

  /** @param slowest the slowest first; of those for which there is no room, the last are left out */
  public static ExecutorLatencies of(String executorId, LatencyCounts all, List<PeerLatency> slowest) {
    List<PeerLatency> kept = new ArrayList<>();
    int left = MOST_BYTES - BYTES_AROUND - Texts.bytes(executorId) - characters(all);
    for (PeerLatency peer : slowest) {
      left -= BYTES_AROUND_PEER + Texts.bytes(peer.executorId()) + characters(peer.blocks());
      if (left < 0) {
        break;
      }
      kept.add(peer);
    }
    return new ExecutorLatencies(VERSION, executorId, all, kept);
  }

  /** Of the numbers, and the commas between them. */
  private static int characters(LatencyCounts counts) {
    int characters = Long.toString(counts.totalNanos()).length() + Long.toString(counts.longestNanos()).length();
    for (long count : counts.toArray()) {
      characters += Long.toString(count).length() + 1;
    }
    return characters;
  }

  /** The number that Spark gives the executor that reads. */
  public String executorId() {
    return executorId;
  }

  /**
   * Blocks of all other executors: how many took up to 0.1, 0.3, 1, 3, 10, 30, 100, 300 ms, 1, 3, 10 s, and longer.
   */
  public LatencyCounts all() {
    return all;
  }

  /** Those executors whose blocks take longest, the slowest first. */
  public List<PeerLatency> slowest() {
    return slowest;
  }
}
