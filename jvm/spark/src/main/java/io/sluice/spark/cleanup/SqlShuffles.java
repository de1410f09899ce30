package io.sluice.spark.cleanup;

import io.sluice.spark.conf.SqlCleanup;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * On the driver: the shuffles that were registered during SQL executions of sessions that want them removed at the
 * execution's end, until Spark's cleaner removes them. Any thread.
 */
public final class SqlShuffles {
  private final ConcurrentMap<Integer, SqlCleanup> byId = new ConcurrentHashMap<>();
  private final ConcurrentMap<Long, Set<Integer>> byExecution = new ConcurrentHashMap<>();

  /** Notes what the session wants that registers the shuffle, during which execution. */
  public void add(int shuffleId, SqlCleanup wanted, long executionId) {
    if (wanted != SqlCleanup.OFF) {
      byId.put(shuffleId, wanted);
      byExecution.computeIfAbsent(executionId, id -> ConcurrentHashMap.newKeySet()).add(shuffleId);
    }
  }

  /** Whether no shuffle is noted that anybody wants removed. */
  boolean isEmpty() {
    return byId.isEmpty() && byExecution.isEmpty();
  }

  /** The shuffles that were noted during an execution; called once, when it has ended. */
  public Set<Integer> endExecution(long executionId) {
    Set<Integer> made = byExecution.remove(executionId);
    return made == null ? Set.of() : made;
  }

  /** What the session wanted that registered the shuffle. */
  public SqlCleanup wanted(int shuffleId) {
    return byId.getOrDefault(shuffleId, SqlCleanup.OFF);
  }

  /** Forgets a shuffle that was removed for good. */
  public void forget(int shuffleId) {
    byId.remove(shuffleId);
  }
}
