package io.sluice.bench.workload;

import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.api.java.function.PairFunction;
import scala.Tuple2;

/**
 * RDDs whose records are pure functions of their number. The executors make them in the stage that reads
 * them, so their cost is part of every timing.
 */
final class GeneratedRecords {

  private GeneratedRecords() {}

  /** {@code make} of 0, 1, … {@code rows - 1} in {@code maps} partitions of equal size. */
  static <T> JavaRDD<T> records(JavaSparkContext context, long rows, int maps, Function<Long, T> make) {
    return context.parallelize(splits(maps), maps).mapPartitions(split -> generate(split, rows, maps, make));
  }

  /** The same for pairs. */
  static <K, V> JavaPairRDD<K, V> pairs(JavaSparkContext context, long rows, int maps, PairFunction<Long, K, V> make) {
    return context.parallelize(splits(maps), maps)
        .mapPartitionsToPair(split -> generate(split, rows, maps, make::call));
  }

  private static List<Integer> splits(int maps) {
    return IntStream.range(0, maps).boxed().toList();
  }

  private static <T> Iterator<T> generate(Iterator<Integer> splits, long rows, int maps, Function<Long, T> make) {
    int split = splits.next();
    long from = firstRow(split, rows, maps);
    long until = firstRow(split + 1, rows, maps);
    return LongStream.range(from, until).mapToObj(row -> call(make, row)).iterator();
  }

  /** Splits differ by one row at most; exact for up to 2^63 / maps rows. */
  private static long firstRow(int split, long rows, int maps) {
    return rows / maps * split + Math.min(split, rows % maps);
  }

  private static <T> T call(Function<Long, T> make, long row) {
    try {
      return make.call(row);
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      // Spark's functional interfaces declare every exception; generators throw none.
      throw new IllegalStateException("record " + row + " cannot be made", e);
    }
  }
}
