package io.sluice.spark.sql;

import java.util.concurrent.TimeUnit;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.sql.execution.metric.SQLMetric;

/**
 * What a sort adds to its plan node's metrics and to its task's, as {@code SortExec} does. Java, because Scala's
 * compiler does not let other packages than Spark's change a task's metrics. Called by generated code, by the thread
 * that reads the rows, which need not be the task's own.
 */
public final class SortMetrics {
  private SortMetrics() {}

  /** Bytes that the sorter's task has spilled so far. */
  public static long bytesSpilled(BinaryRowSorter sorter) {
    return sorter.taskMetrics().memoryBytesSpilled();
  }

  /**
   * Called once, after {@link BinaryRowSorter#sort}.
   *
   * @param spilledBefore {@link #bytesSpilled} before the first row was inserted
   * @param byNumbers rows whose place the numbers of their keys proved
   * @param compared rows that had to be compared with others, because numbers did not tell them apart
   */
  public static void add(BinaryRowSorter sorter, long spilledBefore, SQLMetric sortTime, SQLMetric peakMemory,
      SQLMetric spillSize, SQLMetric byNumbers, SQLMetric compared) {
    TaskMetrics task = sorter.taskMetrics();
    sortTime.add(TimeUnit.NANOSECONDS.toMillis(sorter.getSortTimeNanos()));
    peakMemory.add(sorter.getPeakMemoryUsage());
    spillSize.add(task.memoryBytesSpilled() - spilledBefore);
    byNumbers.add(sorter.getSortedRows() - sorter.getComparedRows());
    compared.add(sorter.getComparedRows());
    task.incPeakExecutionMemory(sorter.getPeakMemoryUsage());
  }
}
