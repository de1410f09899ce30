package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.InAll;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.VariantsInAll;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.MapOutputStatistics;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.functions;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.concurrent.Await;
import scala.concurrent.duration.Duration;

/** The driver gets the sizes that Spark's own writers would have reported. */
class StockSizesTest {
  private static final double MAX_ERROR = 0.1;
  private static final long FROM_BYTES = 64 * 1024;

  /** Kinds of shuffled rows: the columns beside {@code id}, and the partitioning column. */
  private enum Table {
    NUMBERS("id", "id % 1000 AS d", "rand(7) AS r", "CAST(id AS DECIMAL(20, 2)) AS dec"),
    WORDS("id", "concat_ws(' ', id % 977, 'furiously final', id % 31, 'deposits') AS text"),
    SAME_TEXT("id", "repeat('the same text again and again ', 1 + CAST(id % 10 AS INT)) AS text"),
    HEXADECIMAL("id", "sha2(CAST(id AS STRING), 256) AS text"),
    RANDOM_BYTES("id", "unhex(sha2(CAST(id AS STRING), 512)) AS bytes"),
    ONE_LARGE_PARTITION("IF(id % 5 = 0, id, 7)", "sha2(CAST(id AS STRING), 256) AS text"),
    ONE_LARGE_SIMILAR_PARTITION("IF(id % 5 = 0, id, 7)",
        "IF(id % 5 = 0, sha2(CAST(id AS STRING), 256), 'always the same') AS text", "id % 100 AS d"),
    TEXT_DEPENDS_ON_THE_PARTITION("id % 97", "IF(id % 97 % 2 = 0, sha2(CAST(id AS STRING), 256), 'constant') AS text"),
    COUNTS("xxhash64(id) % 100000", "1L AS n"),
    NULLS("id", "IF(id % 3 = 0, NULL, id) AS a", "IF(id % 7 = 0, sha2(CAST(id AS STRING), 256), NULL) AS b");

    private final String key;
    private final String[] columns;

    Table(String key, String... columns) {
      this.key = key;
      this.columns = columns;
    }

    Dataset<Row> rows(SparkSession spark, long rows, int partitions) {
      String[] all = Stream.concat(Stream.of("id", key + " AS k"), Arrays.stream(columns)).toArray(String[]::new);
      return spark.range(0, rows, 1, 3).selectExpr(all).repartition(partitions, functions.col("k"));
    }
  }

  private LocalSpark spark;

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  @InAll
  @ParameterizedTest
  @ValueSource(strings = {"lz4", "zstd", "snappy"})
  void estimatedPartitionSizesAreNearStocks(String codec) throws Exception {
    spark = LocalSpark.start(Map.of("spark.io.compression.codec", codec));
    for (Table table : Table.values()) {
      compare(table, 200_000, 13, MAX_ERROR);
    }
  }

  @Test
  void withoutCompressionEstimatesAreExact() throws Exception {
    spark = LocalSpark.start(Map.of("spark.shuffle.compress", "false"));
    compare(Table.WORDS, 100_000, 13, 0);
    compare(Table.ONE_LARGE_PARTITION, 100_000, 5, 0);
  }

  @VariantsInAll(oneOf = 3)
  @ParameterizedTest
  @CsvSource({"1, 100000", "2, 10", "199, 300000", "201, 300000", "2500, 200000"})
  void estimatesAreNearStocksForAnyNumberOfPartitions(int partitions, long rows) throws Exception {
    spark = LocalSpark.start(Map.of());
    compare(Table.WORDS, rows, partitions, MAX_ERROR);
    compare(Table.HEXADECIMAL, rows, partitions, MAX_ERROR);
  }

  /** Where all streams are sampled from their first byte to their last. */
  @VariantsInAll(oneOf = 3)
  @ParameterizedTest
  @CsvSource({"lz4, 5", "zstd, 5", "snappy, 5", "lz4, 10"})
  void estimatesOfSmallOutputsAreExact(String codec, int partitions) throws Exception {
    spark = LocalSpark.start(Map.of("spark.io.compression.codec", codec));
    for (Table table : Table.values()) {
      long[] ours = sizes(table.rows(spark.session(), 1_000, partitions));
      spark.session().conf().set("spark.sluice.enabled", "false");
      assertArrayEquals(sizes(table.rows(spark.session(), 1_000, partitions)), ours, table.name());
      spark.session().conf().unset("spark.sluice.enabled");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"4k", "1m"})
  void estimatesAreNearStocksForOtherCodecBlockSizes(String blockSize) throws Exception {
    spark = LocalSpark.start(Map.of("spark.io.compression.lz4.blockSize", blockSize));
    compare(Table.WORDS, 200_000, 7, MAX_ERROR);
  }

  /** Plain frames, which tell nothing of how well rows compress. */
  @InAll
  @Test
  void withoutTheNativeLibrary() throws Exception {
    spark = LocalSpark.start(Map.of("spark.sluice.native.library", "/absent/libsluice_jni.so"));
    for (Table table : List.of(Table.NUMBERS, Table.WORDS, Table.HEXADECIMAL, Table.RANDOM_BYTES,
        Table.ONE_LARGE_PARTITION, Table.NULLS)) {
      compare(table, 200_000, 13, MAX_ERROR);
    }
  }

  /** Both engines' sizes of the same shuffle, as the driver has them. */
  private void compare(Table table, long rows, int partitions, double maxError) throws Exception {
    long[] ours = sizes(table.rows(spark.session(), rows, partitions));
    spark.session().conf().set("spark.sluice.enabled", "false");
    long[] stocks = sizes(table.rows(spark.session(), rows, partitions));
    spark.session().conf().unset("spark.sluice.enabled");
    for (int p = 0; p < partitions; p++) {
      assertEquals(stocks[p] == 0, ours[p] == 0, "partition " + p);
      if (stocks[p] >= FROM_BYTES) {
        String message = table + ", partition " + p + ": " + ours[p] + " bytes, stock " + stocks[p];
        assertTrue(Math.abs(ours[p] - stocks[p]) <= maxError * stocks[p], message);
      }
    }
    double total = Arrays.stream(stocks).sum();
    assertEquals(1, Arrays.stream(ours).sum() / total, maxError, table + " as a whole");
  }

  private long[] sizes(Dataset<Row> shuffled) throws Exception {
    SparkPlan plan = shuffled.queryExecution().executedPlan();
    var dependency = ((ShuffleExchangeExec) plan).shuffleDependency();
    MapOutputStatistics statistics = (MapOutputStatistics) Await.result(
        spark.session().sparkContext().submitMapStage(dependency), Duration.Inf());
    return statistics.bytesByPartitionId();
  }

  @ParameterizedTest
  @CsvSource({"1, 5", "2, 0", "97, 1", "100, 123456789", "1024, -7", "100000, 42"})
  void everyPartitionIsSampledOnce(int partitions, long mapId) {
    SampleOrder order = new SampleOrder(partitions, mapId);
    int[] seen = new int[partitions];
    while (order.hasNext()) {
      seen[order.next()]++;
    }
    assertArrayEquals(IntStream.range(0, partitions).map(p -> 1).toArray(), seen);
  }

  /** 80 of 400 partitions are large: not all of them are sampled. */
  @Test
  void sampledBytesStayAShareOfAllBytesWithManyLargePartitions() {
    int rowBytes = 1024;
    int rows = 80 * 64;
    long pageBytes = (long) rows * (rowBytes + PageWriter.ENTRY_BYTES);
    long page = Platform.allocateMemory(pageBytes);
    try {
      StockSizeEstimator estimator = new StockSizeEstimator(StockCodec.of(new SparkConf(false)), 400, 0);
      Platform.setMemory(page, (byte) 1, pageBytes);
      for (int row = 0; row < rows; row++) {
        estimator.add(row % 80, rowBytes);
        long entry = (long) (row % 80) << 32 | (long) row * rowBytes;
        Platform.putLong(null, page + pageBytes - (row + 1L) * PageWriter.ENTRY_BYTES, entry);
      }
      estimator.sample(new long[] {page, pageBytes, (long) rows * rowBytes, rows});
      estimator.estimate(new long[400]);
      long sampled = estimator.sampledBytes();
      assertTrue(sampled > 0 && sampled < 1 << 20, () -> sampled + " bytes of " + rows * rowBytes + " were sampled");
    } finally {
      Platform.freeMemory(page);
    }
  }
}
