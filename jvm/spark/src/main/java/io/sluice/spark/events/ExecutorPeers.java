package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The executors that one executor may read one-sidedly, by state; posted when that has changed, at once if the number
 * of those that cannot be read has, else with ExecutorFigures. A later event replaces an earlier one of the same
 * executor.
 */
public final class ExecutorPeers extends SluiceEvent {
  private static final int MOST_NAMES = 10;
  private static final int MOST_ID_BYTES = 50;

  private final String executorId;
  private final int announced;
  private final int connected;
  private final int failed;
  private final List<String> failedPeers;

  @JsonCreator
  ExecutorPeers(@JsonProperty("version") int version, @JsonProperty("executorId") String executorId,
      @JsonProperty("announced") int announced, @JsonProperty("connected") int connected,
      @JsonProperty("failed") int failed, @JsonProperty("failedPeers") List<String> failedPeers) {
    super(version);
    this.executorId = executorId;
    this.announced = announced;
    this.connected = connected;
    this.failed = failed;
    this.failedPeers = failedPeers == null ? Collections.emptyList() : failedPeers;
  }

  /** @param failedPeers ids of those that failed; of many, the first are kept */
  public static ExecutorPeers of(String executorId, int announced, int connected, int failed,
      List<String> failedPeers) {
    List<String> kept = new ArrayList<>();
    for (String peer : failedPeers.subList(0, Math.min(MOST_NAMES, failedPeers.size()))) {
      kept.add(Texts.atMost(MOST_ID_BYTES, peer));
    }
    return new ExecutorPeers(VERSION, executorId, announced, connected, failed, kept);
  }

  /** The number that Spark gives the executor. */
  public String executorId() {
    return executorId;
  }

  /** Those that have announced themselves as readable one-sidedly, the connected and the failed ones included. */
  public int announced() {
    return announced;
  }

  /** Those that it is connected with. */
  public int connected() {
    return connected;
  }

  /** Those that could not be read and are left to Spark's block transfer for a while. */
  public int failed() {
    return failed;
  }

  /** Ids of some that failed. */
  public List<String> failedPeers() {
    return failedPeers;
  }
}
