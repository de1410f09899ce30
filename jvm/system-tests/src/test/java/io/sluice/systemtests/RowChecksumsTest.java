package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The checksums of rows that Spark 4.1 and later keep for each map output are Spark's own, for rows of every length:
 * of one to forty columns, with text of up to 600 bytes.
 */
@Tag("everyLine")
class RowChecksumsTest {
  private static final String ENABLED = "spark.sql.shuffle.orderIndependentChecksum.enabled";
  private static final int[] COLUMNS = {1, 2, 3, 5, 8, 13, 40};
  private static final long ROWS = 2_000;

  @Test
  void areSparksOwn() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "stock is the reference");
    assumeTrue(Arrays.stream(MapStatus.class.getMethods()).anyMatch(method -> method.getName().equals("checksumValue")),
        "this Spark has no such checksums");
    Map<Integer, List<Long>> expected = checksums(Engine.STOCK);
    expected.values().forEach(each -> assertFalse(each.contains(0L), expected::toString));
    assertEquals(expected, checksums(Engine.UNDER_TEST));
  }

  /** Of each map task, by the number of columns. */
  private static Map<Integer, List<Long>> checksums(Engine engine) {
    Map<Integer, List<Long>> all = new TreeMap<>();
    try (SparkApplication application = SparkApplication.on(engine).set(ENABLED, "true")
        .set("spark.sql.adaptive.enabled", "false").start()) {
      for (int columns : COLUMNS) {
        all.put(columns, Plans.rowChecksums(rows(application.session(), columns)));
      }
    }
    return all;
  }

  /** The first column has text of 0 to 600 bytes, so that rows have every length; some of the others are null. */
  private static Dataset<Row> rows(SparkSession spark, int columns) {
    List<String> all = new ArrayList<>(List.of("repeat('é', CAST(id % 301 AS INT)) AS text"));
    for (int i = 1; i < columns; i++) {
      all.add("IF(id % 7 = " + i % 7 + ", NULL, xxhash64(id, " + i + ")) AS c" + i);
    }
    return spark.range(0, ROWS, 1, 3).selectExpr(all.toArray(new String[0])).repartition(5, col("text"));
  }
}
