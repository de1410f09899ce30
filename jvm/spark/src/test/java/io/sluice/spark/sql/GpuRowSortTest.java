package io.sluice.spark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.gpu.TestGpu;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.collection.Iterator;

/** SQL rows whose references a GPU sorts come in the order in which they come without one, equal rows too. */
@Timeout(120)
class GpuRowSortTest {
  private static final int ROWS = 20_000;
  private static final int LEAST = 500;
  private static LocalSpark spark;
  private static ExecutorGpu gpu;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  /** The ids of the rows in the order of two columns: of a few values, many of them equal, and of many. */
  private static List<Long> ids(int mostRows, boolean onGpu) {
    return spark.session().range(0, 1, 1, 1).toJavaRDD().mapPartitions(ignored -> {
      List<SortColumn> columns = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        columns.add(SortColumn.of(DataTypes.LongType, i, false, i == 1, true).orElseThrow());
      }
      BinaryRowSorter sorter = BinaryRowSorter.create(new ColumnOrder(columns, 3), null, 3, true, mostRows,
          Long.MAX_VALUE, onGpu ? Optional.of(gpu) : Optional.empty());
      insert(sorter);
      List<Long> ids = new ArrayList<>();
      for (Iterator<UnsafeRow> sorted = sorter.sort(); sorted.hasNext();) {
        ids.add(sorted.next().getLong(2));
      }
      return ids.iterator();
    }).collect();
  }

  private static void insert(BinaryRowSorter sorter) throws IOException {
    Random random = new Random(11);
    UnsafeRow row = new UnsafeRow(3);
    row.pointTo(new byte[32], 32);
    for (int i = 0; i < ROWS; i++) {
      row.setLong(0, random.nextInt(7) - 3L << 40);
      row.setLong(1, random.nextInt(3) == 0 ? 5 : random.nextLong());
      row.setLong(2, i);
      sorter.insertRow(row);
    }
  }

  @Test
  void rowsComeInTheSameOrder() {
    for (int mostRows : new int[] {ROWS, ROWS / 4}) {
      List<Long> expected = ids(mostRows, false);
      for (TestGpu.Sorts does : TestGpu.Sorts.values()) {
        TestGpu device = new TestGpu(16L * LEAST).sorting(does);
        gpu = device.open(GpuUse.ON, new Counters());
        assertEquals(expected, ids(mostRows, true), () -> mostRows + " " + does);
        gpu.close();
        List<Integer> sorts = device.sorts();
        assertTrue(sorts.size() >= ROWS / mostRows, sorts::toString);
        assertTrue(sorts.stream().allMatch(count -> count >= LEAST), sorts::toString);
        assertTrue(sorts.contains(mostRows), sorts::toString);
        assertEquals(does == TestGpu.Sorts.ALL ? List.of() : sorts, device.sortsByTasks());
      }
    }
  }
}
