package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.sum;
import static org.apache.spark.sql.functions.window;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.api.java.function.MapGroupsWithStateFunction;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.GroupStateTimeout;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;
import scala.Tuple2;

/**
 * Streaming queries with state, over a folder to which files are added. Each run takes the files that are new, one a
 * batch, and continues from the queries' checkpoints.
 */
final class Streams {
  private static final int ROWS_A_FILE = 600;
  private static final int KEYS = 37;
  private static final int SECONDS_A_FILE = 900;
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  private static final Map<String, Function<Dataset<Row>, DataStreamWriter<Row>>> QUERIES = new TreeMap<>();

  static {
    QUERIES.put("aggregation", Streams::aggregation);
    QUERIES.put("deduplication", Streams::deduplication);
    QUERIES.put("join of two streams", Streams::join);
    QUERIES.put("state of groups", Streams::stateOfGroups);
  }

  private Streams() {}

  static List<String> names() {
    return List.copyOf(QUERIES.keySet());
  }

  private static DataStreamWriter<Row> aggregation(Dataset<Row> events) {
    return events.withWatermark("t", "5 minutes").groupBy(window(col("t"), "10 minutes"), col("k"))
        .agg(sum("id").as("total"), count("id").as("rows")).writeStream().outputMode("update");
  }

  private static DataStreamWriter<Row> deduplication(Dataset<Row> events) {
    return events.withWatermark("t", "5 minutes").dropDuplicates("k", "t").select("k", "t").writeStream()
        .outputMode("append");
  }

  private static DataStreamWriter<Row> join(Dataset<Row> events) {
    Dataset<Row> left = events.withWatermark("t", "5 minutes").where("id % 3 = 0");
    Dataset<Row> right = events.withWatermark("t", "5 minutes").where("id % 3 = 1 AND k < 30").selectExpr("k AS rightK",
        "t AS rightT", "id AS rightId");
    return left.join(right, expr("k = rightK AND rightT BETWEEN t AND t + INTERVAL 2 MINUTES"), "leftOuter")
        .writeStream().outputMode("append");
  }

  private static DataStreamWriter<Row> stateOfGroups(Dataset<Row> events) {
    MapFunction<Row, Long> key = row -> row.getLong(1);
    MapGroupsWithStateFunction<Long, Row, Long, Tuple2<Long, Long>> total = (k, rows, state) -> {
      long sum = state.exists() ? state.get() : 0;
      while (rows.hasNext()) {
        sum += rows.next().getLong(0);
      }
      state.update(sum);
      return new Tuple2<>(k, sum);
    };
    return events.groupByKey(key, Encoders.LONG())
        .mapGroupsWithState(total, Encoders.LONG(), Encoders.tuple(Encoders.LONG(), Encoders.LONG()),
            GroupStateTimeout.NoTimeout())
        .toDF("k", "total").writeStream().outputMode(OutputMode.Update());
  }

  /**
   * Adds the files with the numbers {@code from} to {@code to} - 1; each is later in every respect than those before.
   */
  static void addFiles(Path input, int from, int to) throws IOException {
    Files.createDirectories(input);
    for (int file = from; file < to; file++) {
      StringBuilder text = new StringBuilder();
      for (int row = 0; row < ROWS_A_FILE; row++) {
        long id = (long) file * ROWS_A_FILE + row;
        Instant time = START.plusSeconds(file * SECONDS_A_FILE + row * 7919 % 10 * (SECONDS_A_FILE / 10));
        text.append(id).append(',').append(id * 31 % KEYS).append(',').append(time).append('\n');
      }
      Path path = input.resolve("events-" + file + ".csv");
      Files.writeString(path, text);
      Files.setLastModifiedTime(path, FileTime.from(START.plusSeconds(file)));
    }
  }

  /** Runs all queries until no file is new. Returns for each the rows of its batches, with the batches' numbers. */
  static Map<String, List<String>> run(SparkSession spark, Path input, Path checkpoints) {
    return run(spark, QUERIES, input, checkpoints);
  }

  /** The same with these queries. */
  static Map<String, List<String>> run(
      SparkSession spark,
      Map<String, Function<Dataset<Row>, DataStreamWriter<Row>>> queries,
      Path input,
      Path checkpoints) {
    Map<String, List<String>> results = new TreeMap<>();
    List<StreamingQuery> running = new ArrayList<>();
    try {
      for (String name : queries.keySet()) {
        List<String> rows = new ArrayList<>();
        results.put(name, rows);
        Dataset<Row> events = spark.readStream().schema("id LONG, k LONG, t TIMESTAMP")
            .option("maxFilesPerTrigger", 1).csv(input.toString());
        VoidFunction2<Dataset<Row>, Long> keep = (batch, number) -> rows.addAll(lines(batch, number));
        running.add(queries.get(name).apply(events).queryName(name.replace(' ', '_'))
            .option("checkpointLocation", checkpoints.resolve(name.replace(' ', '-')).toString())
            .trigger(Trigger.AvailableNow()).foreachBatch(keep).start());
      }
      for (StreamingQuery query : running) {
        query.awaitTermination();
      }
    } catch (TimeoutException | StreamingQueryException e) {
      throw new AssertionError("a streaming query failed", e);
    }
    return results;
  }

  private static List<String> lines(Dataset<Row> batch, long number) {
    return batch.collectAsList().stream().map(row -> number + ": " + row).sorted().collect(Collectors.toList());
  }
}
