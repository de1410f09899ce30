package io.sluice.spark.write;

import io.sluice.spark.SluiceException;
import io.sluice.spark.memory.HeapQuota;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.order.Combining;
import io.sluice.spark.order.RangeSearch;
import io.sluice.spark.order.RecordCombiner;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.SerializedRecords;
import io.sluice.spark.record.ShuffleSerializers;
import java.io.IOException;
import org.apache.spark.Aggregator;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Makes rows of a map task's records: each its own as long as keys and values have a shape. From the first record on
 * that has none, all go through the shuffle's serializer, so that a partition's records keep their order. With a
 * serializer that is not Spark's all do from the start. One thread.
 */
final class RecordRowWriter<K, V> {
  /** Takes rows. */
  interface Target {
    /** @param row starts at index 0 and is only valid during the call */
    void append(int partition, int fields, byte[] row, int bytes, int records) throws IOException;
  }

  /** After so many ranges that were wrong, a task guesses no more. */
  private static final int MOST_REFUTED = 3;
  /** Nor after so many keys without a guess for each that was found. */
  private static final int MOST_WITHOUT_GUESS = 1000;

  private final ShuffleDependency<?, ?, ?> dependency;
  private final Partitioner partitioner;
  private final int partitions;
  /** Stock's writer that combines does not ask the partitioner where there is one partition; others do. */
  private final boolean asksPartitioner;
  private final Target target;
  private final TaskContext context;
  private final Counters counters;
  private final boolean rowsMayReplace;
  private final RecordEncoder encoder;
  /** Null when each key is given to the partitioner. */
  private RangeSearch ranges;
  private long rangesFound;
  private final boolean rangesAreProven;
  private int rangesRefuted;
  private long keysWithoutGuess;
  /** Null as long as each record is a row of its own. */
  private SerializedRecords serialized;

  /** @param guessOrder whether a range partitioner's order may be guessed */
  RecordRowWriter(ShuffleDependency<?, ?, ?> dependency, Target target, TaskContext context, Counters counters,
      ShuffleSerializers serializers, boolean guessOrder) {
    this.dependency = dependency;
    this.partitioner = dependency.partitioner();
    this.partitions = partitioner.numPartitions();
    this.asksPartitioner = partitions > 1 || !dependency.mapSideCombine();
    this.target = target;
    this.context = context;
    this.counters = counters;
    this.rowsMayReplace = serializers.rowsMayReplace(dependency.shuffleId(), dependency.serializer());
    this.encoder = RecordEncoder.of(dependency.serializer(), rowsMayReplace);
    this.ranges = RangeSearch.of(partitioner, guessOrder).orElse(null);
    this.rangesAreProven = ranges != null && ranges.asksOrdering();
  }

  /** Writes all of {@code records}, combined by key first if the shuffle asks for that. */
  void write(Iterator<Product2<K, V>> records) throws IOException {
    Iterator<? extends Product2<?, ?>> combined = dependency.mapSideCombine() ? combine(records) : records;
    try {
      while (combined.hasNext()) {
        Product2<?, ?> record = combined.next();
        append(record._1(), record._2());
      }
      if (serialized != null) {
        drain();
      }
    } finally {
      counters.add(Counter.WRITE_RANGES_PROVEN, rangesAreProven ? rangesFound : 0);
      counters.add(Counter.WRITE_RANGES_REFUTED, rangesRefuted);
      if (serialized != null) {
        serialized.close();
      }
    }
  }

  /**
   * As Spark's {@code Aggregator} does, but what spills goes through this shuffle's serializer, as on Spark's map side.
   */
  @SuppressWarnings("unchecked") // The dependency's types are those of its records.
  private Iterator<? extends Product2<?, ?>> combine(Iterator<Product2<K, V>> records) {
    Aggregator<K, V, Object> aggregator = (Aggregator<K, V, Object>) dependency.aggregator().get();
    return new RecordCombiner<K, V, Object>(Combining.ofValues(aggregator), dependency.serializer(), context, counters)
        .combine(records, key -> asksPartitioner ? askPartitioner(key) : 0);
  }

  private void append(Object key, Object value) throws IOException {
    boolean encoded = serialized == null && rowsMayReplace && encoder.encode(key, value);
    int partition = partitionOf(key, encoded);
    if (encoded) {
      target.append(partition, encoder.fields(), encoder.buffer(), encoder.length(), 1);
      return;
    }
    if (serialized == null) {
      HeapQuota quota = new HeapQuota(context.taskMemoryManager());
      serialized = new SerializedRecords(dependency.serializer(), rowsMayReplace, partitions, quota);
    }
    serialized.add(partition, key, value);
    if (serialized.isFull()) {
      drain();
    }
  }

  /** @param encoded whether the encoder has the record's row */
  private int partitionOf(Object key, boolean encoded) {
    if (ranges != null) {
      int partition = encoded ? ranges.partitionOf(key, encoder.buffer(), encoder.length()) : ranges.partitionOf(key);
      if (partition >= 0) {
        rangesFound++;
        return partition;
      }
      noteNotFound(partition);
    }
    return asksPartitioner ? askPartitioner(key) : 0;
  }

  private void noteNotFound(int why) {
    if (why == RangeSearch.REFUTED) {
      rangesRefuted++;
    } else {
      keysWithoutGuess++;
    }
    if (rangesRefuted == MOST_REFUTED || keysWithoutGuess > MOST_WITHOUT_GUESS * (rangesFound + 1)) {
      ranges = null;
    }
  }

  /** Partitioners of RDDs are users' code. */
  private int askPartitioner(Object key) {
    int partition = partitioner.getPartition(key);
    if (partition < 0 || partition >= partitions) {
      throw new SluiceException("shuffle " + dependency.shuffleId() + ": " + partitioner.getClass().getName()
          + " puts a key into partition " + partition + ", but its partitions are 0 to " + (partitions - 1));
    }
    return partition;
  }

  private void drain() throws IOException {
    serialized.drain(encoder, (partition, records) -> {
      target.append(partition, encoder.fields(), encoder.buffer(), encoder.length(), records);
      counters.add(Counter.WRITE_RECORDS_SERIALIZED, records);
    });
  }
}
