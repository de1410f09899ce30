package io.sluice.spark.events;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Counts the nodes of SQL plans that stay Spark's where the session wants Sluice's, on the driver, by the reason. Any
 * thread.
 */
public final class PlanNodes {
  /** Reasons have names of classes in them, of which an application has few. */
  private static final int MOST_REASONS = 100;

  private final Map<String, Long> sorts = new HashMap<>();
  private final Map<String, Long> exchanges = new HashMap<>();
  private boolean changed;

  /** @param reason completes "because …" */
  public synchronized void sortLeft(String reason) {
    add(sorts, reason);
  }

  /** @param reason completes "because …" */
  public synchronized void exchangeLeft(String reason) {
    add(exchanges, reason);
  }

  private void add(Map<String, Long> nodes, String reason) {
    nodes.merge(nodes.size() < MOST_REASONS || nodes.containsKey(reason) ? reason : PlanNodesLeft.OTHER, 1L, Long::sum);
    changed = true;
  }

  /** All counts, if there are more than at the last call. */
  synchronized Optional<PlanNodesLeft> takeChanged() {
    if (!changed) {
      return Optional.empty();
    }
    changed = false;
    return Optional.of(PlanNodesLeft.of(sorts, exchanges));
  }
}
