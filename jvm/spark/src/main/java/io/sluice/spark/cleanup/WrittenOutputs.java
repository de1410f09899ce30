package io.sluice.spark.cleanup;

import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The map outputs that this process has written or is writing, by shuffle, so that all of them can be deleted when the
 * shuffle is removed. A map task may end after its shuffle was removed: then it learns that from {@link Output} and
 * deletes its output itself. A removed shuffle that Spark computes again is recorded anew. Any thread.
 */
public final class WrittenOutputs {
  private final ConcurrentMap<Integer, Shuffle> byShuffle = new ConcurrentHashMap<>();

  /** A map output that a task is writing. */
  public interface Output {
    /** Whether its shuffle has been removed since the task began; then nobody else deletes the output. */
    boolean isRemoved();
  }

  /** What was written of one shuffle since it was last removed. */
  private static final class Shuffle {
    private final Set<Long> mapIds = new HashSet<>();
    private boolean removed;
    private long removedUpTo = -1;

    synchronized void add(long mapId) {
      mapIds.add(mapId);
    }

    synchronized boolean isRemoved(long mapId) {
      return removed || mapId <= removedUpTo;
    }

    synchronized Set<Long> removeAll() {
      removed = true;
      return new HashSet<>(mapIds);
    }

    synchronized Set<Long> removeUpTo(long lastMapId) {
      removedUpTo = Math.max(removedUpTo, lastMapId);
      Set<Long> taken = new HashSet<>();
      for (Iterator<Long> all = mapIds.iterator(); all.hasNext();) {
        Long mapId = all.next();
        if (mapId <= lastMapId) {
          all.remove();
          taken.add(mapId);
        }
      }
      return taken;
    }
  }

  /** Records an output before its task writes anything. */
  public Output begin(int shuffleId, long mapId) {
    // Within compute(), so that the output is either in the list that a removal returns or in a new record.
    Shuffle shuffle = byShuffle.compute(shuffleId, (id, known) -> {
      Shuffle current = known == null ? new Shuffle() : known;
      current.add(mapId);
      return current;
    });
    return () -> shuffle.isRemoved(mapId);
  }

  /** Forgets a shuffle; the caller deletes the outputs returned. */
  public Set<Long> removeShuffle(int shuffleId) {
    Shuffle shuffle = byShuffle.remove(shuffleId);
    return shuffle == null ? Set.of() : shuffle.removeAll();
  }

  /**
   * Forgets the outputs of a shuffle that tasks up to a number have written; the caller deletes those returned. Map ids
   * are numbers of task attempts, which only grow within an application, so outputs that are computed afterwards stay.
   */
  public Set<Long> removeUpTo(int shuffleId, long lastMapId) {
    Shuffle shuffle = byShuffle.get(shuffleId);
    return shuffle == null ? Set.of() : shuffle.removeUpTo(lastMapId);
  }

  /** How many shuffles are recorded. */
  int shuffles() {
    return byShuffle.size();
  }
}
