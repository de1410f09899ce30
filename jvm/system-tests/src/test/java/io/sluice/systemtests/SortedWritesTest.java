package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.spark_partition_id;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Files written from sorted rows, in folders by partition and in buckets, are those of stock, byte by byte. */
@Tag("once")
class SortedWritesTest {
  private static final long ROWS = 5_000;

  private final Path folder = SparkApplication.workDir().resolve("sorted-writes");

  @Test
  void filesAreStocks() {
    List<Map<String, String>> expected = new ArrayList<>();
    List<Map<String, String>> actual = new ArrayList<>();
    for (Engine engine : Engine.values()) {
      try (SparkApplication application = SparkApplication.on(engine).start()) {
        for (Consumer<SparkSession> write : writes()) {
          (engine == Engine.STOCK ? expected : actual).add(files(application.session(), write));
        }
        NativeMemory.assertAllReturned();
      }
    }
    assertEquals(expected, actual);
    expected.forEach(files -> assertTrue(files.size() > 1, () -> "too few files: " + files.keySet()));
  }

  private List<Consumer<SparkSession>> writes() {
    return List.of(
        spark -> events(spark).write().partitionBy("g").json(path()),
        spark -> events(spark).repartition(3, col("k")).sortWithinPartitions("g", "name").write().partitionBy("g")
            .json(path()),
        spark -> events(spark).orderBy("k", "id").write().json(path()),
        spark -> events(spark).write().option("path", path()).bucketBy(4, "k").sortBy("name", "id").format("json")
            .saveAsTable("bucketed"),
        spark -> events(spark).repartition(4, col("k")).write().option("path", path()).partitionBy("g")
            .bucketBy(2, "k").sortBy("id").format("json").saveAsTable("bucketed"));
  }

  private static Dataset<Row> events(SparkSession spark) {
    // So that bounds of ranges do not depend on a sample.
    spark.conf().set("spark.sql.execution.rangeExchange.sampleSizePerPartition", "10000");
    return Tables.events(spark, ROWS, 3).withColumn("g", expr("IF(s % 7 = 0, NULL, s % 5)"))
        .withColumn("p", spark_partition_id());
  }

  private String path() {
    return folder.toString();
  }

  /** What the write leaves: the text of each file by its name, without the random number of the job. */
  private Map<String, String> files(SparkSession spark, Consumer<SparkSession> write) {
    ShuffleFiles.deleteTree(folder);
    write.accept(spark);
    Map<String, String> files = new TreeMap<>();
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path file : all.filter(path -> path.toString().endsWith(".json")).toList()) {
        String name = folder.relativize(file).toString().replaceAll("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "");
        files.put(name, Files.readString(file, StandardCharsets.UTF_8));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    spark.sql("DROP TABLE IF EXISTS bucketed");
    ShuffleFiles.deleteTree(folder);
    return files;
  }
}
