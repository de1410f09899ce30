package io.sluice.advisor.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.advisor.estimate.ApplicationEstimate;
import io.sluice.advisor.estimate.Part;
import io.sluice.advisor.estimate.StageEstimate;
import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Exchange;
import io.sluice.advisor.model.ShuffleInput;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Logs that Spark 3.0 to 3.2 have written, on which Sluice does not run but which the advisor reads: of a query (20,000
 * rows, repartitioned to 2 partitions, counted by key, sorted) and of an RDD job (20,000 records, {@code reduceByKey}),
 * on Java 8. Taken out of them were only the properties of Hadoop, of the system and of the class path. The newer lines
 * write theirs in the system tests.
 */
class OlderLogsTest {
  private static final long ROWS = 20_000;

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"3.0.3", "3.1.3", "3.2.4"})
  void logIsUnderstood(String version) throws Exception {
    Application application = read(version);
    assertEquals(version, application.sparkVersion());
    assertEquals("log of " + version, application.name());
    assertTrue(application.javaVersion().startsWith("1.8"), application::javaVersion);
    assertTrue(application.ended() && application.durationS() > 1, "it has a beginning and an end");
    assertEquals(0, application.health().damagedLines() + application.health().longLines());
    assertEquals("", application.health().fault());
    assertEquals(2, application.cores());

    List<Stage> writers = application.stages().stream()
        .filter(stage -> stage.totals().sum(TaskFigure.WRITTEN_RECORDS) > 0).collect(Collectors.toList());
    assertEquals(List.of(Exchange.Partitioning.HASH, Exchange.Partitioning.RANGE), writers.stream().map(Stage::exchange)
        .filter(exchange -> exchange != null).map(Exchange::partitioning).collect(Collectors.toList()));
    assertEquals(ROWS, writers.get(0).totals().sum(TaskFigure.WRITTEN_RECORDS));
    assertTrue(writers.get(0).dataBytes() > ROWS, "data size");
    Stage reduce = application.stages().get(application.stages().size() - 1);
    assertEquals(List.of("reduceByKey"),
        reduce.inputs().stream().map(ShuffleInput::operation).collect(Collectors.toList()));
    assertTrue(reduce.totals().readBlocks() > 0 && reduce.totals().cpuS() > 0, "figures of tasks");
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.0.3", "3.1.3", "3.2.4"})
  void estimateSaysThatSluiceNeedsANewerSpark(String version) throws Exception {
    ApplicationEstimate estimate = ApplicationEstimate.of(read(version));
    assertEquals(3, estimate.shuffles().size());
    StageEstimate combined = estimate.stages().get(estimate.stages().size() - 2);
    assertTrue(combined.savedS().containsKey(Part.COMBINE), combined::toString);
    assertTrue(estimate.confidence().doubts().toString().contains("does not run on Spark " + version),
        () -> "" + estimate.confidence());
  }

  private Application read(String version) throws Exception {
    Path file = folder.resolve("log");
    try (InputStream log = OlderLogsTest.class.getResourceAsStream("/io/sluice/advisor/log/spark-" + version + ".gz")) {
      Files.copy(log, file);
    }
    return EventLogReader.read(new EventLog(file, List.of(file), true), count -> {});
  }
}
