package io.sluice.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
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
}
