package io.sluice.spark.read;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;

/**
 * The shuffles that were registered in this process, where it is driver and executor at once (local mode). A reader
 * that finds that the driver's tracker of map outputs has forgotten its shuffle makes the tracker know it again,
 * without outputs, before it reports a fetch failure: Spark's scheduler stops the application when an output of an
 * unknown shuffle comes or is lost.
 *
 * <p>References are weak, because Spark's cleaner waits until a dependency is unreachable. Any thread.
 */
public final class LocalShuffles {
  private final ConcurrentMap<Integer, Reference> dependencies = new ConcurrentHashMap<>();
  private final ReferenceQueue<ShuffleDependency<?, ?, ?>> unreachable = new ReferenceQueue<>();

  private static final class Reference extends WeakReference<ShuffleDependency<?, ?, ?>> {
    private final int shuffleId;

    Reference(int shuffleId, ShuffleDependency<?, ?, ?> dependency, ReferenceQueue<ShuffleDependency<?, ?, ?>> queue) {
      super(dependency, queue);
      this.shuffleId = shuffleId;
    }
  }

  /** Remembers a shuffle that the driver registers. */
  public void add(int shuffleId, ShuffleDependency<?, ?, ?> dependency) {
    for (Object gone = unreachable.poll(); gone != null; gone = unreachable.poll()) {
      dependencies.remove(((Reference) gone).shuffleId, gone);
    }
    dependencies.put(shuffleId, new Reference(shuffleId, dependency, unreachable));
  }

  /** Makes the tracker know a shuffle that it has forgotten; elsewhere than in local mode it does nothing. */
  synchronized void ensureKnown(MapOutputTracker tracker, int shuffleId) {
    Reference reference = dependencies.get(shuffleId);
    ShuffleDependency<?, ?, ?> dependency = reference == null ? null : reference.get();
    if (dependency != null && tracker instanceof MapOutputTrackerMaster master && !master.containsShuffle(shuffleId)) {
      master.registerShuffle(
          shuffleId, dependency.rdd().getNumPartitions(), dependency.partitioner().numPartitions());
    }
  }

  /** How many are remembered. */
  int size() {
    return dependencies.size();
  }
}
