package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** Both attempts of a map task commit, on two hosts; readers get the rows of one. */
@InAll
@Timeout(300)
class SpeculativeCommitTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final List<Integer> NUMBERS = IntStream.range(0, 1_000).boxed().toList();
  private static final int MAP_TASKS = 2;

  /**
   * Makes the first task's attempts wait for each other when they have committed and the driver does not know it yet:
   * that is when Spark calls the listeners of a task.
   */
  private static Iterator<Integer> endingTogether(Iterator<Integer> rows, String folder) {
    if (TaskContext.getPartitionId() == 0) {
      TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> {
        try {
          Files.createFile(Path.of(folder, "attempt-" + context.attemptNumber()));
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
        Await.until(LIMIT, () -> "there is no second attempt",
            () -> Files.exists(Path.of(folder, "attempt-0")) && Files.exists(Path.of(folder, "attempt-1")));
      });
    }
    return rows;
  }

  @Test
  void readersGetTheRowsOfOneAttempt() throws IOException {
    Map<Integer, Integer> expected =
        NUMBERS.stream().collect(Collectors.toMap(number -> number % 10, number -> number, Integer::sum));
    try (StandaloneCluster cluster = StandaloneCluster.start();
        SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
            .master(cluster.masterUrl())
            .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
            .set("spark.cores.max", "2")
            .set("spark.speculation", "true")
            .set("spark.speculation.interval", "100ms")
            .set("spark.speculation.quantile", "0.5")
            .set("spark.speculation.multiplier", "1.5")
            .set("spark.speculation.minTaskRuntime", "300ms")
            .set("spark.locality.wait", "0")
            .start().awaitExecutors(2)) {
      String folder = Files.createDirectories(application.localDir().resolve("attempts")).toString();
      assertEquals(expected, application.context().parallelize(NUMBERS, MAP_TASKS)
          .mapPartitions(rows -> endingTogether(rows, folder))
          .mapToPair(number -> new Tuple2<>(number % 10, number)).reduceByKey(Integer::sum, 3).collectAsMap());
      if (Engine.writesFrames()) {
        assertEquals(MAP_TASKS + 1,
            ProcessCounters.ofExecutors(application.context()).get(Counter.WRITE_MAP_OUTPUTS));
      }
      assertEquals(List.of(), application.events().fetchFailures());
    }
  }
}
