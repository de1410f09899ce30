package io.sluice.spark.write;

import io.sluice.spark.SluiceShuffleManager;
import java.io.File;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.Product2;
import scala.jdk.javaapi.CollectionConverters;

/** Calls the writer of one map id directly, in a task, to test a second attempt or a failed stop. */
final class DirectWriter {
  private static final long MAP_ID = 424_242;
  /** Tasks run in this process, so they find these here. */
  private static volatile ShuffleDependency<Object, InternalRow, InternalRow> dependency;
  private static volatile List<long[]> result = List.of();

  private DirectWriter() {}

  /** Writes up to {@code limit} rows of the exchange's first map task; the lengths when {@code success}. */
  static List<long[]> write(Dataset<Row> exchange, int limit, boolean success) {
    dependency = ((ShuffleExchangeExec) exchange.queryExecution().executedPlan()).shuffleDependency();
    return writeSame(limit, success);
  }

  /** The same map id of the same shuffle again. */
  static List<long[]> writeSame(int limit, boolean success) {
    JavaRDD<Product2<Object, InternalRow>> records = dependency.rdd().toJavaRDD();
    records.mapPartitionsWithIndex((index, rows) -> {
      if (index == 0) {
        result = inTask(rows, limit, success);
      }
      return List.of().iterator();
    }, true).count();
    return result;
  }

  private static List<long[]> inTask(Iterator<Product2<Object, InternalRow>> rows, int limit, boolean success)
      throws Exception {
    TaskContext context = TaskContext.get();
    SluiceShuffleManager manager = (SluiceShuffleManager) SparkEnv.get().shuffleManager();
    ShuffleWriter<Object, InternalRow> writer = manager.getWriter(
        dependency.shuffleHandle(), MAP_ID, context, context.taskMetrics().shuffleWriteMetrics());
    try {
      writer.write(CollectionConverters.asScala(success ? rows : failingAfter(limit, rows))
          .take(success ? limit : Integer.MAX_VALUE));
    } catch (IllegalStateException onPurpose) {
      assert !success;
    }
    boolean reported = writer.stop(success).isDefined();
    return reported ? List.of(writer.getPartitionLengths()) : List.of();
  }

  private static <T> Iterator<T> failingAfter(int limit, Iterator<T> rows) {
    int[] seen = {0};
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public T next() {
        if (seen[0]++ == limit) {
          throw new IllegalStateException("on purpose");
        }
        return rows.next();
      }
    };
  }

  static File dataFile() {
    return ((SluiceShuffleManager) SparkEnv.get().shuffleManager()).shuffleBlockResolver()
        .getDataFile(dependency.shuffleId(), MAP_ID);
  }
}
