package io.sluice.spark.store;

import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;

/** Spark's local directories, to which outputs are moved. Any thread. */
final class SparkLocalDirs implements OutputDisk {
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
  public File write(Copy copy) throws IOException {
    AtomicReference<File> written = new AtomicReference<>();
    new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), counters).write(file -> {
      long bytes = copy.to(file);
      written.set(file);
      return bytes;
    });
    return written.get();
  }
}
