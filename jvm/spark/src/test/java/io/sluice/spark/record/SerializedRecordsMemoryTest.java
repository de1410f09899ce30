package io.sluice.spark.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.memory.HeapQuota;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.serializer.JavaSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The buffers and streams of serialized records are counted in Spark's execution memory. In real tasks. */
@Timeout(120)
class SerializedRecordsMemoryTest {
  private static final int PARTITIONS = 20_000;
  private static final long MIB = 1 << 20;
  private static final SparkConf CONF = new SparkConf(false);

  /** Runs in this process. */
  interface Body {
    void run(TaskMemoryManager memory) throws Exception;
  }

  private static volatile Body body;
  private static LocalSpark spark;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private static void inTask(Body work) {
    body = work;
    JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelize(List.of(1), 1)
        .foreachPartition(rows -> body.run(TaskContext.get().taskMemoryManager()));
  }

  private static SerializedRecords records(TaskMemoryManager memory) {
    return new SerializedRecords(new JavaSerializer(CONF), true, PARTITIONS, new HeapQuota(memory));
  }

  /** Adds a record to one partition after the other until it is full: in how many there are. */
  private static int fill(SerializedRecords records) {
    int partition = 0;
    while (!records.isFull()) {
      records.add(partition, partition, "a value");
      partition++;
    }
    return partition;
  }

  @Test
  void serializationBuffersAreCountedAndBounded() {
    inTask(memory -> {
      try (SerializedRecords records = records(memory)) {
        int streams = fill(records);
        long counted = memory.getMemoryConsumptionForThisTask();
        assertTrue(streams < 8_192, () -> streams + " streams of 4 KiB and more in 32 MiB");
        assertTrue(counted >= 31 * MIB && counted <= 33 * MIB, () -> counted + " bytes counted");
        int[] drained = {0};
        records.drain(new RecordEncoder(), (partition, count) -> drained[0] += count);
        assertEquals(streams, drained[0]);
        assertEquals(0, memory.getMemoryConsumptionForThisTask());
        assertFalse(records.isFull());
      }
    });
  }

  @Test
  void buffersAreSmallerWhereSparkGrantsNoMemory() {
    inTask(memory -> {
      MemoryConsumer greedy = new MemoryConsumer(memory, memory.pageSizeBytes(), MemoryMode.ON_HEAP) {
        @Override
        public long spill(long bytes, MemoryConsumer trigger) {
          return 0;
        }
      };
      long taken = greedy.acquireMemory(1L << 40);
      try (SerializedRecords records = records(memory)) {
        int streams = fill(records);
        assertTrue(streams > 100 && streams < 300, streams + " streams in the 1 MiB that is always there");
      }
      greedy.freeMemory(taken);
      assertEquals(0, memory.getMemoryConsumptionForThisTask());
    });
  }
}
