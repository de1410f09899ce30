package io.sluice.advisor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** An event log as Spark 4.2 writes it, with made-up figures: one query of two stages unless a test says otherwise. */
public final class TestLog {
  public static final long START_MS = 1_795_000_000_000L;

  private final List<String> lines = new ArrayList<>();
  private final Map<String, String> settings = new LinkedHashMap<>();

  /** A whole application: rows are written by hash to 64 partitions, read and sorted. */
  public static TestLog ofSort(String name) {
    TestLog log = new TestLog().head("4.2.0", name);
    log.executor("1", 1).executor("2", 1);
    log.exchange(0, 38, "Exchange hashpartitioning(cast(k#1L as decimal(10,2)), 64), ENSURE_REQUIREMENTS, "
        + "[plan_id=20]");
    log.job(0, "", 0, START_MS + 10_000);
    log.stageSubmitted(0, "map", 8, START_MS + 10_000, "[]", 3, "");
    for (int task = 0; task < 8; task++) {
      log.task(0, START_MS + 10_000 + task / 2 * 5_000, 5_000, 4_500, Map.of("Shuffle Bytes Written", 25_000_000L,
          "Shuffle Records Written", 625_000L, "JVM GC Time", 100L));
    }
    log.stageCompleted(0, "map", 8, START_MS + 10_000, START_MS + 30_000, "[]", 3, "",
        accumulable(38, "data size", 400_000_000));
    log.stageSubmitted(1, "reduce", 64, START_MS + 30_000, "[0]", 9, shuffledRows(3));
    for (int task = 0; task < 64; task++) {
      log.task(1, START_MS + 30_000 + task / 2 * 1_000, 1_000, 900, Map.of("Local Bytes Read", 3_000_000L,
          "Remote Bytes Read", 125_000L, "Total Records Read", 78_125L, "Local Blocks Fetched", 4L,
          "Remote Blocks Fetched", 4L));
    }
    log.stageCompleted(1, "reduce", 64, START_MS + 30_000, START_MS + 62_000, "[0]", 9, shuffledRows(3),
        accumulable(45, "sort time", 20_000));
    log.jobEnd(0, START_MS + 62_000).executionEnd(0, START_MS + 62_000);
    return log.end(START_MS + 70_000);
  }

  /** A setting of the application; before {@link #head}, or it is not in the log. */
  public TestLog set(String key, String value) {
    settings.put(key, value);
    return this;
  }

  public TestLog head(String version, String name) {
    add("{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"" + version + "\"}");
    StringBuilder properties = new StringBuilder();
    settings.forEach((key, value) -> properties.append(properties.length() == 0 ? "" : ",").append(quoted(key))
        .append(':').append(quoted(value)));
    add("{\"Event\":\"SparkListenerEnvironmentUpdate\",\"JVM Information\":{\"Java Version\":\"17.0.15 (Debian)\"},"
        + "\"Spark Properties\":{" + properties + "},\"System Properties\":{\"x\":\"y\"}}");
    return add("{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":" + quoted(name)
        + ",\"App ID\":\"app-1\",\"Timestamp\":" + START_MS + ",\"User\":\"root\"}");
  }

  public TestLog executor(String id, int cores) {
    return add("{\"Event\":\"SparkListenerExecutorAdded\",\"Timestamp\":" + (START_MS + 5) + ",\"Executor ID\":\"" + id
        + "\",\"Executor Info\":{\"Host\":\"h\",\"Total Cores\":" + cores + ",\"Log Urls\":{}}}");
  }

  public TestLog exchange(int execution, int accumulator, String simpleString) {
    return add("{\"Event\":\"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart\",\"executionId\":"
        + execution + ",\"description\":\"d\",\"details\":\"\",\"physicalPlanDescription\":\"== Physical Plan ==\\n\","
        + "\"sparkPlanInfo\":{\"nodeName\":\"WholeStageCodegen (2)\",\"simpleString\":\"\",\"children\":["
        + "{\"nodeName\":\"Exchange\",\"simpleString\":" + quoted(simpleString) + ",\"children\":[],\"metadata\":{},"
        + "\"metrics\":[{\"name\":\"data size\",\"accumulatorId\":" + accumulator + ",\"metricType\":\"size\"}]}],"
        + "\"metadata\":{},\"metrics\":[]},\"time\":" + (START_MS + 9_000) + ",\"modifiedConfigs\":{}}");
  }

  public TestLog executionEnd(int execution, long time) {
    return add("{\"Event\":\"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd\",\"executionId\":"
        + execution + ",\"time\":" + time + "}");
  }

  public TestLog job(int id, String group, int execution, long time) {
    return add("{\"Event\":\"SparkListenerJobStart\",\"Job ID\":" + id + ",\"Submission Time\":" + time
        + ",\"Stage Infos\":[],\"Stage IDs\":[],\"Properties\":{\"spark.jobGroup.id\":" + quoted(group)
        + (execution < 0 ? "" : ",\"spark.sql.execution.id\":\"" + execution + "\"") + "}}");
  }

  public TestLog jobEnd(int id, long time) {
    return add("{\"Event\":\"SparkListenerJobEnd\",\"Job ID\":" + id + ",\"Completion Time\":" + time
        + ",\"Job Result\":{\"Result\":\"JobSucceeded\"}}");
  }

  public TestLog stageSubmitted(int id, String name, int tasks, long time, String parents, int rdd, String inputs) {
    return add("{\"Event\":\"SparkListenerStageSubmitted\",\"Stage Info\":" + stage(id, name, tasks, time, 0, parents,
        rdd, inputs, "") + ",\"Properties\":{}}");
  }

  public TestLog stageCompleted(int id, String name, int tasks, long submitted, long completed, String parents, int rdd,
      String inputs, String accumulables) {
    return add("{\"Event\":\"SparkListenerStageCompleted\",\"Stage Info\":" + stage(id, name, tasks, submitted,
        completed, parents, rdd, inputs, accumulables) + "}");
  }

  private static String stage(int id, String name, int tasks, long submitted, long completed, String parents, int rdd,
      String inputs, String accumulables) {
    return "{\"Stage ID\":" + id + ",\"Stage Attempt ID\":0,\"Stage Name\":" + quoted(name) + ",\"Number of Tasks\":"
        + tasks + ",\"RDD Info\":[" + rdd(rdd, "MapPartitionsRDD", "map", "[]", tasks)
        + (inputs.isEmpty() ? "" : "," + inputs) + "],\"Parent IDs\":" + parents + ",\"Details\":\"at …\","
        + "\"Submission Time\":" + submitted + (completed > 0 ? ",\"Completion Time\":" + completed : "")
        + ",\"Accumulables\":[" + accumulables + "]}";
  }

  /** An RDD that reads the shuffle of a query. */
  public static String shuffledRows(int parent) {
    return rdd(4, "ShuffledRowRDD", "Exchange", "[" + parent + "]", 64);
  }

  public static String rdd(int id, String name, String operation, String parents, int partitions) {
    return "{\"RDD ID\":" + id + ",\"Name\":" + quoted(name) + ",\"Scope\":"
        + quoted("{\"id\":\"7\",\"name\":\"" + operation + "\"}") + ",\"Callsite\":\"\",\"Parent IDs\":" + parents
        + ",\"Storage Level\":{},\"Number of Partitions\":" + partitions + "}";
  }

  public static String accumulable(int id, String name, long value) {
    return "{\"ID\":" + id + ",\"Name\":" + quoted(name) + ",\"Value\":\"" + value + "\",\"Internal\":true,"
        + "\"Metadata\":\"sql\"}";
  }

  /** A task of {@code millis}; figures by their field, {@code JVM GC Time} and those of shuffles. */
  public TestLog task(int stage, long launched, long millis, long cpuMillis, Map<String, Long> figures) {
    return add(String.format(Locale.ROOT, "{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":%d,\"Stage Attempt ID\":0,"
        + "\"Task Type\":\"T\",\"Task End Reason\":{\"Reason\":\"Success\"},\"Task Info\":{\"Task ID\":1,"
        + "\"Launch Time\":%d,\"Finish Time\":%d,\"Accumulables\":[{\"ID\":1,\"Name\":\"n\",\"Update\":\"3\"}]},"
        + "\"Task Metrics\":{\"Executor Run Time\":%d,\"Executor CPU Time\":%d,\"JVM GC Time\":%d,"
        + "\"Shuffle Read Metrics\":{\"Local Bytes Read\":%d,\"Remote Bytes Read\":%d,\"Total Records Read\":%d,"
        + "\"Local Blocks Fetched\":%d,\"Remote Blocks Fetched\":%d,\"Fetch Wait Time\":0},\"Shuffle Write Metrics\":"
        + "{\"Shuffle Bytes Written\":%d,\"Shuffle Write Time\":1,\"Shuffle Records Written\":%d},"
        + "\"Updated Blocks\":[]}}",
        stage, launched, launched + millis, millis, cpuMillis * 1_000_000, figures.getOrDefault("JVM GC Time", 0L),
        figures.getOrDefault("Local Bytes Read", 0L), figures.getOrDefault("Remote Bytes Read", 0L),
        figures.getOrDefault("Total Records Read", 0L), figures.getOrDefault("Local Blocks Fetched", 0L),
        figures.getOrDefault("Remote Blocks Fetched", 0L), figures.getOrDefault("Shuffle Bytes Written", 0L),
        figures.getOrDefault("Shuffle Records Written", 0L)));
  }

  public TestLog end(long time) {
    return add("{\"Event\":\"SparkListenerApplicationEnd\",\"Timestamp\":" + time + "}");
  }

  public TestLog add(String line) {
    lines.add(line);
    return this;
  }

  public String text() {
    return String.join("\n", lines) + "\n";
  }

  public byte[] bytes() {
    return text().getBytes(StandardCharsets.UTF_8);
  }

  public Path write(Path file) throws IOException {
    return Files.write(file, bytes());
  }

  static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c < 0x20 || c == '"' || c == '\\' || c > 0x7e) {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
