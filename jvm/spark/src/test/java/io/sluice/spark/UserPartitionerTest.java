package io.sluice.spark;

import io.sluice.spark.UserSerializer.Point;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** Partitioners that users write: uneven ones, and ones that are wrong. */
@Timeout(180)
class UserPartitionerTest {
  private static final int PARTITIONS = 5;

  private static RddOnBothEngines spark;

  /** A number's partition. */
  private interface Choice extends Serializable {
    int of(int n);
  }

  /** Partitions numbers, and points by their x. */
  private static final class ByChoice extends Partitioner {
    private static final long serialVersionUID = 1L;
    private final int partitions;
    private final Choice choice;

    ByChoice(int partitions, Choice choice) {
      this.partitions = partitions;
      this.choice = choice;
    }

    @Override
    public int numPartitions() {
      return partitions;
    }

    @Override
    public int getPartition(Object key) {
      return choice.of(key instanceof Point point ? point.x : (Integer) key);
    }
  }

  @BeforeAll
  static void start() {
    spark = RddOnBothEngines.start(Map.of());
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  /** @param shaped whether the keys have a shape */
  private static RddOnBothEngines.Job<List<String>> partitioned(boolean shaped, int partitions, Choice choice) {
    return context -> spark.numbers(20_000)
        .mapToPair(n -> new Tuple2<Object, Integer>(shaped ? n : (Object) new Point(n, 0), n))
        .partitionBy(new ByChoice(partitions, choice))
        .glom().map(records -> records.size() + " " + RddOnBothEngines.sorted(records)).collect();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void allRecordsInOnePartition(boolean shaped) {
    spark.assertSame(partitioned(shaped, PARTITIONS, n -> 3));
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void twoLargeAndManySmallPartitions(boolean shaped) {
    spark.assertSame(partitioned(shaped, 400, n -> n % 3 == 0 ? 399 - n / 100 : n % 2));
  }

  @ParameterizedTest
  @CsvSource({"-1, true", "5, true", "-2147483648, true", "2147483647, true", "-1, false", "5, false",
    "2147483647, false"})
  void aPartitionOutOfRangeFailsAsOnStock(int partition, boolean shaped) {
    spark.assertFails("puts a key into partition " + partition + ", but its partitions are 0 to 4",
        "ArrayIndexOutOfBoundsException",
        partitioned(shaped, PARTITIONS, n -> n == 12_345 ? partition : n % PARTITIONS));
  }

  /** Stock does not ask the partitioner where it combines in map tasks and there is one partition, else it does. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void thePartitionerOfOnePartitionIsAskedWhereStockAsksIt(boolean shaped) {
    ByChoice throwing = new ByChoice(1, n -> {
      throw new IllegalStateException("no partition for " + n);
    });
    JavaPairRDD<Object, Integer> records = spark.numbers(2_000)
        .mapToPair(n -> new Tuple2<>(shaped ? n % 100 : (Object) new Point(n % 100, 0), n));
    spark.assertSame(context -> RddOnBothEngines.sorted(records.reduceByKey(throwing, Integer::sum).collect()));
    spark.assertFails("no partition for ", context -> records.partitionBy(throwing).count());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anExceptionOfThePartitionerFailsAsOnStock(boolean shaped) {
    spark.assertFails("no partition for 12345", partitioned(shaped, PARTITIONS, n -> {
      if (n == 12_345) {
        throw new IllegalStateException("no partition for " + n);
      }
      return n % PARTITIONS;
    }));
  }
}
