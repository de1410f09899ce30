package io.sluice.bench.driver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Spark's own shuffle, which writes down what happens to map outputs, for {@code MoveOrderTracesTest}: in a local
 * application whose {@code spark.bench.trace} names the file. A line for each event, in order: {@code c <shuffle>
 * <partition of the map task> <bytes>} when an output is committed, {@code r <shuffle> <stage>} when the first task of
 * a stage's attempt begins to read a shuffle, {@code d <shuffle>} when a shuffle is removed. {@code bench/traces} runs
 * the jobs.
 */
public final class RecordedShuffle extends SortShuffleManager {
  private static final String FILE = "spark.bench.trace";

  private final Path file;
  /** Stages' attempts with the shuffles that they have begun to read. */
  private final Set<String> reads = new HashSet<>();

  /** Created by Spark from {@code spark.shuffle.manager}. */
  public RecordedShuffle(SparkConf conf) {
    super(conf);
    this.file = Path.of(conf.get(FILE));
  }

  private synchronized void write(String line) {
    try {
      Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private synchronized void read(int shuffleId, TaskContext context) {
    if (reads.add(shuffleId + " " + context.stageId() + " " + context.stageAttemptNumber())) {
      write("r " + shuffleId + " " + context.stageId());
    }
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(ShuffleHandle handle, long mapId, TaskContext context,
      ShuffleWriteMetricsReporter metrics) {
    ShuffleWriter<K, V> writer = super.getWriter(handle, mapId, context, metrics);
    return new ShuffleWriter<>() {
      @Override
      public void write(Iterator<Product2<K, V>> records) throws IOException {
        writer.write(records);
      }

      @Override
      public Option<MapStatus> stop(boolean success) {
        Option<MapStatus> status = writer.stop(success);
        if (success && status.isDefined()) {
          long bytes = Arrays.stream(writer.getPartitionLengths()).sum();
          RecordedShuffle.this.write("c " + handle.shuffleId() + " " + context.partitionId() + " " + bytes);
        }
        return status;
      }

      @Override
      public long[] getPartitionLengths() {
        return writer.getPartitionLengths();
      }
    };
  }

  @Override
  public <K, C> ShuffleReader<K, C> getReader(ShuffleHandle handle, int startMap, int endMap, int startPartition,
      int endPartition, TaskContext context, ShuffleReadMetricsReporter metrics) {
    read(handle.shuffleId(), context);
    return super.getReader(handle, startMap, endMap, startPartition, endPartition, context, metrics);
  }

  @Override
  public boolean unregisterShuffle(int shuffleId) {
    write("d " + shuffleId);
    return super.unregisterShuffle(shuffleId);
  }
}
