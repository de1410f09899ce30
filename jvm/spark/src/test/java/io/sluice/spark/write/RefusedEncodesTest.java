package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.Lease;
import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.Await;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.util.TaskCompletionListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Writers whose encodes the arena refuses in the middle lose no row, and encode one frame twice at most. */
@Timeout(180)
class RefusedEncodesTest {
  private static final int ROWS = 100_000;
  private LocalSpark spark;

  private void start(Map<String, String> settings) {
    start("local[2]", settings);
  }

  private void start(String master, Map<String, String> settings) {
    Map<String, String> all = new HashMap<>(settings);
    all.put("spark.sluice.codec.level", "plain");
    spark = LocalSpark.start(master, all);
  }

  @AfterEach
  void everythingIsGivenBack() {
    Await.until("memory is given back", () -> spark.manager().executorState().memory().budget().usedBytes() == 0);
    assertEquals(0, spark.counter(Counter.MEMORY_LEAKED_BYTES));
    spark.close();
    assertEquals(0, NativeCore.leasedBytes());
  }

  /** One row that depends on every row, and not on their order. */
  private static Dataset<Row> digest(Dataset<Row> rows) {
    return rows.agg(functions.count("*"), functions.bit_xor(functions.xxhash64(functions.struct("*"))));
  }

  private void assertSameAsOnStock(Supplier<Dataset<Row>> query) {
    assertEquals(spark.onStock(query), spark.onSluice(query));
    // A task that has few rows left to sort and nothing to spill encodes a frame, and if other tasks have the memory
    // that it needs, waits and encodes it again: one frame for each encode that was refused.
    assertTrue(spark.counter(Counter.WRITE_FRAMES_REPEATED) <= spark.counter(Counter.WRITE_ENCODES_REFUSED));
    assertEquals(0, spark.counter(Counter.MEMORY_TIMEOUTS));
  }

  /** Something else, which no quota of the task knows, takes the arena's memory before the only batch is encoded. */
  @Test
  void anEncodeGoesOnAfterASpill() {
    start(Map.of("spark.sluice.memory.limit", "48m", "spark.sluice.writer.batchBytes", "16m"));
    assertSameAsOnStock(() -> digest(spark.session().range(0, ROWS, 1, 1).map((MapFunction<Long, Long>) id -> {
      if (id == ROWS - 1) {
        leaveInArena(3 << 20);
      }
      return id;
    }, Encoders.LONG()).selectExpr("value", "xxhash64(value) as h", "md5(cast(value as string)) as t").repartition(50,
        functions.col("h"))));
    // The batch has 6.4 MB of rows, and their sort takes 1 to 1.6 MB of the 3 MiB.
    assertTrue(spark.counter(Counter.WRITE_ENCODES_REFUSED) > 1, "the encode was not refused");
    assertEquals(0, spark.counter(Counter.WRITE_FRAMES_REPEATED));
  }

  /** Until the task ends. */
  private static void leaveInArena(long bytes) {
    List<Lease> taken = new ArrayList<>();
    for (long size : new long[] {1 << 20, 64 << 10}) {
      for (Lease lease = Lease.tryTake(size); lease != null; lease = Lease.tryTake(size)) {
        taken.add(lease);
      }
    }
    for (long left = 0; left < bytes && !taken.isEmpty();) {
      Lease lease = taken.remove(0);
      left += lease.bytes();
      lease.close();
    }
    TaskContext.get()
        .addTaskCompletionListener((TaskCompletionListener) ended -> taken.forEach(Lease::close));
  }

  /** Long rows, then so many short ones that the quota of their pages is too little to encode them. */
  @ParameterizedTest
  @CsvSource({"0,false", "2,false", "2,true"})
  void longRowsThenManyShortOnesInATinyMemory(String threads, boolean offHeap) {
    start(offHeap ? Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "24m",
        "spark.sluice.writer.threads", threads)
        : Map.of("spark.sluice.memory.limit", "16m", "spark.sluice.writer.threads", threads));
    assertSameAsOnStock(this::longRowsThenManyShortOnes);
    assertTrue(offHeap || spark.counter(Counter.WRITE_SPILLS) > 0, "nothing was spilled");
  }

  private Dataset<Row> longRowsThenManyShortOnes() {
    return digest(spark.session().range(0, 5 * ROWS, 1, 3).selectExpr("id",
        "case when id % 20000 < 60 then repeat(md5(cast(id as string)), 1500) when id % 3 = 0 then 'a' end as t")
        .repartition(40, functions.col("id")));
  }

  /** No other task has the memory that it needs. */
  @Test
  void aTaskAloneEncodesNoFrameTwice() {
    start("local[1]", Map.of("spark.sluice.memory.limit", "16m", "spark.sluice.writer.threads", "0"));
    assertSameAsOnStock(this::longRowsThenManyShortOnes);
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0, "nothing was spilled");
    assertEquals(0, spark.counter(Counter.WRITE_FRAMES_REPEATED));
  }

  @Test
  void rowsWithoutColumnsInATinyMemory() {
    start(Map.of("spark.sluice.memory.limit", "16m"));
    assertSameAsOnStock(() -> spark.session().range(0, 10L * ROWS, 1, 3).select().repartition(7).agg(
        functions.count("*")));
  }
}
