package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.store.SpillFiles;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The quota of a batch, in a real task. */
@Timeout(180)
class PageBatchTest {
  private static final int PARTITIONS = 50;
  private static final long PAGE_BYTES = 1 << 20;

  /** What the task below does; it runs in this process. */
  interface Body {
    void run(TaskMemory memory, MapOutput output) throws Exception;
  }

  private static volatile Body body;
  private LocalSpark spark;

  @BeforeEach
  void start() {
    spark = LocalSpark.start(Map.of("spark.sluice.memory.limit", "1g", "spark.sluice.memory.failOnLeak", "true"));
  }

  @AfterEach
  void stop() {
    body = null;
    spark.close();
    assertEquals(0, NativeCore.leasedBytes());
  }

  private void run(Body task) {
    body = task;
    JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelize(List.of(1), 1)
        .foreachPartition(rows -> {
          ExecutorState executor = ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).executorState();
          TaskMemory memory = executor.memory().of(TaskContext.get());
          SpillFiles spills = new SpillFiles(SparkEnv.get().blockManager().diskBlockManager(), executor.counters());
          BlockSettings blocks = executor.settings().blocks();
          try (MapOutput output = new MapOutput(
              () -> new NativeRuns(PARTITIONS, blocks, false, null), PARTITIONS, false, null, blocks, memory, spills,
              executor.counters())) {
            body.run(memory, output);
          }
        });
  }

  /** A batch of one page of rows of {@code rowBytes}, for which rows of {@code expectedRowBytes} were expected. */
  private static PageBatch fullBatch(TaskMemory memory, MapOutput output, int rowBytes, int expectedRowBytes) {
    PageBatch batch = new PageBatch(1);
    long encode = batch.lackingEncodeBytes(output, PAGE_BYTES, expectedRowBytes, false);
    PageWriter page = batch.addPage(memory.tryLeaseForRows(PAGE_BYTES, encode), encode);
    byte[] row = new byte[rowBytes];
    for (int i = 0; page.append(i % PARTITIONS, row, Platform.BYTE_ARRAY_OFFSET, rowBytes); i++) {
      Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET + rowBytes - 8, i);
    }
    return batch;
  }

  @Test
  void aFullBatchHasTheQuotaThatTheNativeCoreSaysItsEncodeTakes() {
    run((memory, output) -> {
      for (int[] rows : List.of(new int[] {16, 16}, new int[] {16, 1000}, new int[] {1000, 16})) {
        PageBatch batch = fullBatch(memory, output, rows[0], rows[1]);
        batch.reserveEncode(output, memory, true);
        long needs = output.encodeNeeds(batch.rowBytes(), batch.rows(), 0, 1);
        assertEquals(PAGE_BYTES + needs, batch.quotaBytes());
        assertEquals(PAGE_BYTES + needs, memory.heldBytes());
        batch.release(memory);
        assertEquals(0, memory.heldBytes());
      }
    });
  }

  @Test
  void whatRowsNeedFollowsFromTheirLength() {
    run((memory, output) -> {
      PageBatch batch = new PageBatch(1);
      long small = batch.lackingEncodeBytes(output, PAGE_BYTES, 16, false);
      long large = batch.lackingEncodeBytes(output, PAGE_BYTES, 10_000, false);
      assertTrue(small > PAGE_BYTES * 3 / 2, () -> "16 bytes to sort each row of 16: " + small);
      assertTrue(large < PAGE_BYTES * 5 / 4, () -> "long rows: " + large);
    });
  }

  /** The encoder's scratch memory for a large row is a multiple of the row. */
  @Test
  void aLargeRowHasQuotaForTheScratchMemoryOfItsEncode() {
    run((memory, output) -> {
      long row = 64 << 20;
      PageBatch batch = new PageBatch(1);
      long encode = batch.lackingEncodeBytes(output, row + 8, row, true);
      assertTrue(encode > 3 * row, () -> encode + " bytes");
      batch.addPageOf(memory.tryLeaseForRows(row + 8, encode), encode, row);
      assertTrue(batch.lackingEncodeBytes(output, PAGE_BYTES, 100, false) < 2 * PAGE_BYTES, "counted once");
      batch.release(memory);
    });
  }
}
