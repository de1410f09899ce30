package io.sluice.spark.metrics;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What tasks of one stage attempt counted for one shuffle that they wrote or read.
 *
 * @param values of every {@link Counter}, in the order of the enum
 */
public record ShuffleFigures(int shuffleId, int stageId, int stageAttempt, long[] values) implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Whether {@code other} is of the same shuffle and the same attempt of the same stage. */
  boolean isOfSame(ShuffleFigures other) {
    return shuffleId == other.shuffleId && stageId == other.stageId && stageAttempt == other.stageAttempt;
  }

  ShuffleFigures plus(ShuffleFigures other) {
    long[] sum = values.clone();
    for (int i = 0; i < Math.min(sum.length, other.values.length); i++) {
      sum[i] += other.values[i];
    }
    return new ShuffleFigures(shuffleId, stageId, stageAttempt, sum);
  }

  /** The counters that are not 0, by id. */
  public Map<String, Long> byId() {
    Map<String, Long> found = new LinkedHashMap<>();
    for (Counter counter : Counter.values()) {
      if (values[counter.ordinal()] != 0) {
        found.put(counter.id(), values[counter.ordinal()]);
      }
    }
    return found;
  }
}
