package io.sluice.spark.metrics;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.Serializable;

/** How long an executor's readers waited for the blocks of another executor, its peer. Immutable. */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class PeerLatency implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String executorId;
  private final LatencyCounts blocks;

  /** @param executorId of the peer */
  @JsonCreator
  public PeerLatency(@JsonProperty("executorId") String executorId, @JsonProperty("blocks") LatencyCounts blocks) {
    this.executorId = executorId == null ? "" : executorId;
    this.blocks = blocks == null ? LatencyCounts.NONE : blocks;
  }

  /** Of the peer. */
  public String executorId() {
    return executorId;
  }

  public LatencyCounts blocks() {
    return blocks;
  }
}
