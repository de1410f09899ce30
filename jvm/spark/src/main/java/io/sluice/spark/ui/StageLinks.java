package io.sluice.spark.ui;

import io.sluice.spark.compat.SparkStages;
import io.sluice.spark.events.ShuffleRegistered;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * Which shuffles stages write and read. On the driver a stage says which shuffle it writes; Spark's event log leaves
 * that out, but has the stage's RDD, which is the one that the shuffle was registered with. One thread.
 */
final class StageLinks {
  /** {@link #byRdd} of an RDD that several shuffles write. */
  private static final int SEVERAL = -1;

  /** The shuffle that a stage writes, by the stage's number; of the newest stages. */
  private final Map<Integer, Integer> writers = new Newest<>();
  /** The shuffle that was registered with an RDD, by the RDD's number; of the newest ones. */
  private final Map<Integer, Integer> byRdd = new Newest<>();

  /** An application may have any number of stages. */
  private static final class Newest<K, V> extends LinkedHashMap<K, V> {
    private static final long serialVersionUID = 1L;
    private static final int MOST = 20_000;

    @Override
    protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
      return size() > MOST;
    }
  }

  void registered(ShuffleRegistered event) {
    if (event.rddId() != null) {
      byRdd.merge(event.rddId(), event.shuffleId(), (known, other) -> known.equals(other) ? known : SEVERAL);
    }
  }

  /** Also of stages that do not run, because their output is there: others read it. */
  void started(SparkListenerJobStart job) {
    for (StageInfo stage : SparkStages.of(job)) {
      Integer shuffleId = writes(stage) != null ? writes(stage) : mayWrite(stage);
      if (shuffleId != null) {
        writers.put(stage.stageId(), shuffleId);
      }
    }
  }

  /** The shuffle that a stage writes; null if it does not say so. */
  Integer writes(StageInfo stage) {
    return stage.shuffleDepId().isDefined() ? (Integer) stage.shuffleDepId().get() : null;
  }

  /** The shuffle that a stage with its RDD writes if it writes one; null for none. */
  Integer mayWrite(StageInfo stage) {
    Integer rdd = SparkStages.rdd(stage);
    Integer shuffleId = rdd == null ? null : byRdd.get(rdd);
    return shuffleId == null || shuffleId == SEVERAL ? null : shuffleId;
  }

  /** The shuffles that a stage reads. */
  List<Integer> reads(StageInfo stage) {
    List<Integer> shuffles = new ArrayList<>();
    for (Integer parent : SparkStages.parents(stage)) {
      if (writers.containsKey(parent)) {
        shuffles.add(writers.get(parent));
      }
    }
    return shuffles;
  }
}
