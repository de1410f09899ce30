package io.sluice.spark.read;

import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.SparkSession;

/** Sums the shuffle read metrics of all tasks that a piece of work runs. */
final class ShuffleReads extends SparkListener {
  private final TreeMap<String, Long> sums = new TreeMap<>();

  /** Runs {@code work} and gives the sums; times and bytes, which may differ between engines, are left out. */
  static TreeMap<String, Long> of(SparkSession session, Supplier<?> work) throws Exception {
    ShuffleReads reads = new ShuffleReads();
    session.sparkContext().addSparkListener(reads);
    try {
      work.get();
      session.sparkContext().listenerBus().waitUntilEmpty();
    } finally {
      session.sparkContext().removeSparkListener(reads);
    }
    return reads.sums;
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd taskEnd) {
    ShuffleReadMetrics read = taskEnd.taskMetrics().shuffleReadMetrics();
    add("records", read.recordsRead());
    add("localBlocks", read.localBlocksFetched());
    add("remoteBlocks", read.remoteBlocksFetched());
    add("tasksThatRead", read.localBytesRead() > 0 ? 1 : 0);
  }

  private void add(String name, long amount) {
    sums.merge(name, amount, Long::sum);
  }
}
