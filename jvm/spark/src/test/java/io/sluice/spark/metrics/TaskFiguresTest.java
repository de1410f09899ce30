package io.sluice.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.util.AccumulatorMetadata;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import scala.Option;

import org.apache.spark.util.AccumulatorContext$;

class TaskFiguresTest {
  private static final ExecutorReport REPORT =
      new ExecutorReport("7", "host", true, "it works", new TreeMap<>(Map.of("memory.usedBytes", 5L)));

  private final Counters process = new Counters();
  private final TaskFigures driver = registered();

  private static TaskFigures registered() {
    TaskFigures figures = new TaskFigures();
    figures.metadata_$eq(new AccumulatorMetadata(1, Option.empty(), false));
    AccumulatorContext$.MODULE$.register(figures);
    return figures;
  }

  @AfterEach
  void forget() {
    AccumulatorContext$.MODULE$.clear();
  }

  /** As Spark sends an accumulator: with the dependency to a task, with the result back. */
  private static TaskFigures sent(TaskFigures figures) throws IOException, ClassNotFoundException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(figures);
    }
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return (TaskFigures) in.readObject();
    }
  }

  @Test
  void countsOfTasksAreAddedByShuffleAndStage() throws Exception {
    for (int task = 1; task <= 3; task++) {
      TaskFigures inTask = sent(driver);
      inTask.counters(process, 4, 10, 0).add(Counter.WRITE_RECORDS, task);
      inTask.counters(process, 3, 10, 0).add(Counter.READ_RECORDS, 100);
      inTask.counters(process, 4, 10, 1).increment(Counter.WRITE_SPILLS);
      driver.merge(sent(inTask));
    }
    assertEquals(Map.of("write.records", 6L), taken(4, 0));
    assertEquals(Map.of("read.records", 300L), taken(3, 0));
    assertEquals(Map.of("write.spills", 3L), taken(4, 1));
    assertTrue(driver.isZero());
    assertEquals(6, process.get(Counter.WRITE_RECORDS), "the process counts it too");
  }

  private Map<String, Long> taken(int shuffleId, int attempt) {
    List<ShuffleFigures> taken =
        driver.take(each -> each.shuffleId() == shuffleId && each.stageAttempt() == attempt);
    assertEquals(1, taken.size());
    return taken.get(0).byId();
  }

  @Test
  void aDependencyTakesNothingOfTheDriversToATask() throws Exception {
    driver.add(List.of(new ShuffleFigures(1, 1, 0, new long[Counter.values().length])));
    assertTrue(sent(driver).value().isEmpty());
  }

  @Test
  void theSameReaderOrWriterCountsInOnePlace() {
    assertSame(driver.counters(process, 1, 2, 0), driver.counters(process, 1, 2, 0));
    assertNotSame(driver.counters(process, 1, 2, 0), driver.counters(process, 1, 3, 0));
  }

  @Test
  void theNewestReportOfAnExecutorIsKept() throws Exception {
    for (long used = 1; used <= 2; used++) {
      long now = used;
      TaskFigures inTask = sent(driver);
      inTask.reportExecutor(
          () -> new ExecutorReport("7", "host", true, "", new TreeMap<>(Map.of("memory.usedBytes", now))));
      driver.merge(sent(inTask));
    }
    List<ExecutorReport> reports = driver.takeReports();
    assertEquals(1, reports.size());
    assertEquals(2, reports.get(0).figures().get("memory.usedBytes"));
    assertTrue(driver.takeReports().isEmpty());
  }

  @Test
  void aReportThatCannotBeMadeDoesNotFailTheTask() throws Exception {
    TaskFigures inTask = sent(driver);
    inTask.counters(process, 1, 1, 0).increment(Counter.WRITE_SPILLS);
    inTask.reportExecutor(() -> {
      throw new IllegalStateException("planted");
    });
    driver.merge(sent(inTask));
    assertEquals(1, driver.value().size());
    assertTrue(driver.takeReports().isEmpty());
    inTask.reportExecutor(() -> REPORT);
    driver.merge(sent(inTask));
    assertEquals(List.of(REPORT), driver.takeReports());
  }

  @Test
  void aTasksResultGrowsByLittle() throws Exception {
    TaskFigures inTask = sent(driver);
    for (Counter counter : Counter.values()) {
      if (counter.id().startsWith("write.")) {
        inTask.counters(process, 1, 1, 0).add(counter, 1_000_000_000_000L);
      }
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(inTask);
    }
    assertTrue(bytes.size() < 1024, () -> bytes.size() + " bytes");
  }

  @Test
  void theTimesOfATaskAreKnownByItsNumber() throws Exception {
    for (long task = 7; task <= 8; task++) {
      TaskFigures inTask = sent(driver);
      inTask.inTask(task);
      inTask.counters(process, 1, 2, 0).add(Counter.WRITE_ENCODE_NANOS, 10 * task);
      inTask.counters(process, 1, 2, 0).add(Counter.READ_DECODE_NANOS, task);
      inTask.counters(process, 3, 2, 0).add(Counter.READ_DECODE_NANOS, 100);
      driver.merge(sent(inTask));
    }
    assertEquals(new TaskTimes(8, 80, 108), driver.takeTimes(8));
    assertEquals(new TaskTimes(7, 70, 107), driver.takeTimes(7));
    assertNull(driver.takeTimes(7));
    assertNull(driver.takeTimes(0));
  }

  @Test
  void timesThatNobodyTakesDoNotFillTheMemory() {
    for (long task = 0; task < 50_000; task++) {
      TaskFigures inTask = new TaskFigures();
      inTask.inTask(task);
      driver.merge(inTask);
    }
    assertNull(driver.takeTimes(29_999), "the oldest are dropped");
    assertNotNull(driver.takeTimes(30_000));
    assertNotNull(driver.takeTimes(49_999));
  }

  @Test
  void samplesOfAShuffleAreAdded() throws Exception {
    for (int executor = 0; executor < 3; executor++) {
      TaskFigures inTask = sent(driver);
      inTask.add(new ColumnSample(4, 1, new java.util.ArrayList<>(List.of(
          new ColumnBytes(0, 80, new long[] {0, 5}), new ColumnBytes(1, 90, new long[] {0, 0, 7})))));
      driver.merge(sent(inTask));
    }
    List<ColumnSample> samples = driver.takeColumns();
    assertEquals(1, samples.size());
    assertEquals(3, samples.get(0).frames());
    assertEquals(List.of(21L, 15L), samples.get(0).columns().stream().map(ColumnBytes::encodedBytes).toList());
    assertEquals(270, samples.get(0).columns().get(0).rowBytes());
    assertTrue(driver.takeColumns().isEmpty());
  }

  @Test
  void ofManyColumnsTheSmallOnesBecomeOne() {
    List<ColumnBytes> columns = new java.util.ArrayList<>();
    for (int field = 0; field < 100; field++) {
      columns.add(new ColumnBytes(field, 8, new long[] {field + 1}));
    }
    List<ColumnBytes> sum = ColumnSample.sum(columns, List.of(), 3);
    assertEquals(List.of(99, 98, 97, ColumnBytes.REST), sum.stream().map(ColumnBytes::field).toList());
    assertEquals(5050, sum.stream().mapToLong(ColumnBytes::encodedBytes).sum());
    assertEquals(800, sum.stream().mapToLong(ColumnBytes::rowBytes).sum());
  }
}
