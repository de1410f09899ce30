package io.sluice.spark.cleanup;

/** Removes map outputs of a shuffle. Any thread. */
@FunctionalInterface
public interface OutputRemoval {
  /** @param lastMapId outputs of later tasks, which compute the shuffle again, stay */
  void remove(int shuffleId, long lastMapId);
}
