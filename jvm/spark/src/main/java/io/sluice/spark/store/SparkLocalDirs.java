package io.sluice.spark.store;

import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;

/** Spark's local directories, as where outputs move to. Any thread. */
final class SparkLocalDirs implements OutputCache.Disk {
  private final IndexShuffleBlockResolver resolver;
  private final Counters counters;

  SparkLocalDirs(IndexShuffleBlockResolver resolver, Counters counters) {
    this.resolver = resolver;
    this.counters = counters;
  }

  @Override
  public File dataFile(int shuffleId, long mapId) {
    return resolver.getDataFile(shuffleId, mapId);
  }

  @Override
  public void write(OutputCache.Move move) throws IOException {
    new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), counters).write(move::to);
  }
}
