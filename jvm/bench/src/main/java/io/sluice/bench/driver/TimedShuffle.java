package io.sluice.bench.driver;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Spark's own shuffle with a clock: how long each task spends in writers and readers. A writer's time is that of its
 * {@code write} without the time in which it waits for its rows; a reader's is that in which its rows are asked for.
 * {@link TimedShufflePlugin} sends the sums to the driver. Two readings of the clock a row are part of what it
 * measures.
 */
public final class TimedShuffle extends SortShuffleManager {

  /** By task attempt id, until its task ends. */
  private static final Map<Long, LongAdder> NANOS = new ConcurrentHashMap<>();

  /** Created by Spark from {@code spark.shuffle.manager}. */
  public TimedShuffle(SparkConf conf) {
    super(conf);
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(ShuffleHandle handle, long mapId, TaskContext context,
      ShuffleWriteMetricsReporter metrics) {
    return new Writer<>(super.<K, V>getWriter(handle, mapId, context, metrics), nanosOf(context));
  }

  @Override
  public <K, C> ShuffleReader<K, C> getReader(ShuffleHandle handle, int startMap, int endMap, int startPartition,
      int endPartition, TaskContext context, ShuffleReadMetricsReporter metrics) {
    ShuffleReader<K, C> reader =
        super.getReader(handle, startMap, endMap, startPartition, endPartition, context, metrics);
    LongAdder nanos = nanosOf(context);
    return () -> {
      long start = System.nanoTime();
      Iterator<Product2<K, C>> records = reader.read();
      nanos.add(System.nanoTime() - start);
      return new Timed<>(records, nanos);
    };
  }

  private static LongAdder nanosOf(TaskContext context) {
    long task = context.taskAttemptId();
    return NANOS.computeIfAbsent(task, first -> {
      context.addTaskCompletionListener((TaskCompletionListener) ended -> {
        LongAdder nanos = NANOS.remove(task);
        if (nanos != null) {
          TimedShufflePlugin.send(task, nanos.sum());
        }
      });
      return new LongAdder();
    });
  }

  /** An iterator whose every call is timed. Used by its task's thread. */
  static final class Timed<T> extends AbstractIterator<T> {
    private final Iterator<T> timed;
    private final LongAdder nanos;

    Timed(Iterator<T> timed, LongAdder nanos) {
      this.timed = timed;
      this.nanos = nanos;
    }

    @Override
    public boolean hasNext() {
      long start = System.nanoTime();
      boolean more = timed.hasNext();
      nanos.add(System.nanoTime() - start);
      return more;
    }

    @Override
    public T next() {
      long start = System.nanoTime();
      T element = timed.next();
      nanos.add(System.nanoTime() - start);
      return element;
    }
  }

  /** Spark's writer; what its input takes is not its own time. */
  private static final class Writer<K, V> extends ShuffleWriter<K, V> {
    private final ShuffleWriter<K, V> writer;
    private final LongAdder nanos;

    Writer(ShuffleWriter<K, V> writer, LongAdder nanos) {
      this.writer = writer;
      this.nanos = nanos;
    }

    @Override
    public void write(Iterator<Product2<K, V>> records) throws IOException {
      LongAdder input = new LongAdder();
      long start = System.nanoTime();
      try {
        writer.write(new Timed<>(records, input));
      } finally {
        nanos.add(Math.max(0, System.nanoTime() - start - input.sum()));
      }
    }

    @Override
    public Option<MapStatus> stop(boolean success) {
      long start = System.nanoTime();
      try {
        return writer.stop(success);
      } finally {
        nanos.add(System.nanoTime() - start);
      }
    }

    @Override
    public long[] getPartitionLengths() {
      return writer.getPartitionLengths();
    }
  }
}
