package io.sluice.spark.gpu;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Of which shuffles map outputs are being copied to the GPU, and which of these have ended meanwhile: a copy that comes
 * after its shuffle's end is dropped again. Any thread may call anything.
 */
final class PendingCopies {
  /** How many are queued or under way, by shuffle; no zeros. */
  private final Map<Integer, Integer> pending = new HashMap<>();
  /** Those of {@link #pending} that have ended. */
  private final Set<Integer> ended = new HashSet<>();

  /** A map output is about to be copied; {@link #finish} follows. */
  synchronized void begin(int shuffleId) {
    pending.merge(shuffleId, 1, Integer::sum);
  }

  /** The shuffle has ended. */
  synchronized void end(int shuffleId) {
    if (pending.containsKey(shuffleId)) {
      ended.add(shuffleId);
    }
  }

  /**
   * A map output was copied, or was not.
   *
   * @return whether its shuffle has ended since {@link #begin}
   */
  synchronized boolean finish(int shuffleId) {
    boolean late = ended.contains(shuffleId);
    if (pending.merge(shuffleId, -1, Integer::sum) == 0) {
      pending.remove(shuffleId);
      ended.remove(shuffleId);
    }
    return late;
  }

  /** Shuffles of which anything is known. */
  synchronized int size() {
    return pending.size() + ended.size();
  }
}
