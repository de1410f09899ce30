package io.sluice.spark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.collection.Iterator;

/** When a sorter spills, and what it keeps in memory then. */
@Timeout(120)
class RowSorterSpillTest {
  private static final int ROWS = 20_000;
  /** A page and more of rows. */
  private static final long SOME_BYTES = 100_000;
  private static LocalSpark spark;

  @BeforeAll
  static void start() {
    // Pages are small, so that rows take several.
    spark = LocalSpark.start(Map.of("spark.buffer.pageSize", "65536"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private interface InTask extends Serializable {
    List<Long> run() throws Exception;
  }

  private static List<Long> inTask(InTask body) {
    return spark.session().range(0, 1, 1, 1).toJavaRDD().mapPartitions(ignored -> body.run().iterator()).collect();
  }

  private static BinaryRowSorter sorter(int mostRows, long mostBytes) {
    SortColumn column = SortColumn.of(DataTypes.LongType, 0, false, false, true).orElseThrow();
    return BinaryRowSorter.create(new ColumnOrder(List.of(column), 1), null, 1, true, mostRows, mostBytes);
  }

  /** Values from {@code from} on, in the order in which {@code step} leads. */
  private static void insert(BinaryRowSorter sorter, long from, int step, int count) throws IOException {
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(new byte[16], 16);
    for (int i = 0; i < count; i++) {
      row.setLong(0, from + (long) step * i);
      sorter.insertRow(row);
    }
  }

  private static final class Other extends MemoryConsumer {
    Other() {
      super(TaskContext.get().taskMemoryManager(), 1 << 20, MemoryMode.ON_HEAP);
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) {
      return 0;
    }
  }

  @Test
  void pagesOfSoManyBytesAreSpilled() {
    List<Long> values = inTask(() -> {
      BinaryRowSorter sorter = sorter(Integer.MAX_VALUE, SOME_BYTES);
      insert(sorter, ROWS - 1, -1, ROWS);
      assertTrue(TaskContext.get().taskMetrics().memoryBytesSpilled() > SOME_BYTES);
      assertTrue(sorter.getPeakMemoryUsage() < 5 * SOME_BYTES, () -> "peak " + sorter.getPeakMemoryUsage());
      List<Long> read = new ArrayList<>();
      for (Iterator<UnsafeRow> sorted = sorter.sort(); sorted.hasNext();) {
        read.add(sorted.next().getLong(0));
      }
      return read;
    });
    assertEquals(LongStream.range(0, ROWS).boxed().toList(), values);
  }

  /** The last run has the lowest values, so all of it is read before the others. */
  @Test
  void memoryOfRowsThatWereReadIsFreedWhileOtherRunsAreRead() {
    List<Long> values = inTask(() -> {
      BinaryRowSorter sorter = sorter(ROWS / 2, Long.MAX_VALUE);
      insert(sorter, ROWS - 1, -1, ROWS);
      List<Long> read = new ArrayList<>();
      for (Iterator<UnsafeRow> sorted = sorter.sort(); sorted.hasNext();) {
        UnsafeRow row = sorted.next();
        if (read.size() == ROWS / 2 - 1) {
          long held = sorter.getUsed();
          long spilled = TaskContext.get().taskMetrics().memoryBytesSpilled();
          long freed = sorter.spill(1, new Other());
          assertTrue(freed > held / 2, () -> "freed " + freed + " of " + held);
          assertEquals(held - freed, sorter.getUsed());
          assertEquals(0, sorter.spill(1, new Other()));
          assertEquals(spilled, TaskContext.get().taskMetrics().memoryBytesSpilled());
        }
        // After the spill: the current row must still be there.
        read.add(row.getLong(0));
      }
      assertEquals(0, sorter.getUsed());
      return read;
    });
    assertEquals(LongStream.range(0, ROWS).boxed().toList(), values);
  }
}
