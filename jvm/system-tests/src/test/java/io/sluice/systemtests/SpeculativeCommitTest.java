package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** Both attempts of a map task commit at the same time, on two executors; readers get the rows of one. */
@InAll
@Timeout(300)
class SpeculativeCommitTest {
  private static final List<Integer> NUMBERS = IntStream.range(0, 1_000).boxed().toList();
  private static final int MOST_ROUNDS = 5;

  /** The rows of a task; both attempts of the first task end together. */
  private static final class EndTogether implements Iterator<Integer> {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private final Iterator<Integer> rows;
    private final String folder;
    private boolean ended;

    EndTogether(Iterator<Integer> rows, String folder) {
      this.rows = rows;
      this.folder = folder;
    }

    @Override
    public boolean hasNext() {
      if (!rows.hasNext() && !ended) {
        ended = true;
        if (TaskContext.getPartitionId() == 0) {
          awaitOther();
        }
      }
      return rows.hasNext();
    }

    private void awaitOther() {
      try {
        Files.createFile(Path.of(folder, "attempt-" + TaskContext.get().attemptNumber()));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      Await.until(LIMIT, () -> "there is no second attempt",
          () -> Files.exists(Path.of(folder, "attempt-0")) && Files.exists(Path.of(folder, "attempt-1")));
    }

    @Override
    public Integer next() {
      return rows.next();
    }
  }

  @Test
  void readersGetTheRowsOfOneAttempt() throws IOException {
    Map<Integer, Integer> expected =
        NUMBERS.stream().collect(Collectors.toMap(number -> number % 10, number -> number, Integer::sum));
    try (SparkApplication application = SparkApplication.on(Engine.UNDER_TEST)
        .master(SparkApplication.CLUSTER)
        .set("spark.speculation", "true")
        .set("spark.speculation.interval", "100ms")
        .set("spark.speculation.quantile", "0.5")
        .set("spark.speculation.minTaskRuntime", "300ms")
        .set("spark.locality.wait", "0")
        .start().awaitExecutors(2)) {
      boolean bothCommitted = false;
      for (int round = 0; round < MOST_ROUNDS && !bothCommitted; round++) {
        String folder = Files.createDirectories(application.localDir().resolve("round-" + round)).toString();
        long before = committed(application);
        assertEquals(expected, application.context().parallelize(NUMBERS, 2)
            .mapPartitions(rows -> new EndTogether(rows, folder))
            .mapToPair(number -> new Tuple2<>(number % 10, number)).reduceByKey(Integer::sum, 3).collectAsMap());
        bothCommitted = committed(application) - before == 3;
      }
      assertTrue(bothCommitted || !Engine.writesFrames(), "one attempt was always killed before it had committed");
      assertEquals(List.of(), application.events().fetchFailures());
    }
  }

  private static long committed(SparkApplication application) {
    return Engine.UNDER_TEST.isSluice()
        ? ProcessCounters.ofExecutors(application.context()).getOrDefault(Counter.WRITE_MAP_OUTPUTS, 0L) : 0;
  }
}
