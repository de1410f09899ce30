package io.sluice.spark.events;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/** The events of a real application. */
class ApplicationEventsTest {
  private static final long ROWS = 1000;

  @TempDir Path folder;
  private LocalSpark spark;
  private final List<SluiceEvent> events = new CopyOnWriteArrayList<>();

  private void start(Map<String, String> settings) {
    spark = LocalSpark.start(settings);
    spark.session().sparkContext().addSparkListener(new SparkListener() {
      @Override
      public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof SluiceEvent ours) {
          events.add(ours);
        }
      }
    });
  }

  private Map<String, String> withEventLog() {
    return Map.of("spark.eventLog.enabled", "true", "spark.eventLog.dir", folder.toUri().toString());
  }

  private void shuffle() throws TimeoutException {
    assertEquals(ROWS, spark.session().range(ROWS).repartition(5, col("id")).collectAsList().size());
    spark.session().sparkContext().listenerBus().waitUntilEmpty(60_000);
    // The summaries are posted by a listener.
    spark.session().sparkContext().listenerBus().waitUntilEmpty(60_000);
  }

  private <E> List<E> posted(Class<E> type) {
    return events.stream().filter(type::isInstance).map(type::cast).toList();
  }

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  @Test
  void stagesAreSummedUpAsTheCountersSay() throws TimeoutException {
    start(withEventLog());
    shuffle();
    List<ShuffleRegistered> shuffles = posted(ShuffleRegistered.class);
    assertEquals(1, shuffles.size());
    assertEquals(ShuffleRegistered.SQL_ROWS, shuffles.get(0).path());
    assertNull(shuffles.get(0).reason());
    assertEquals(5, shuffles.get(0).partitions());
    assertTrue(shuffles.get(0).sqlExecution() >= 0);

    List<StageSummary> summaries = posted(StageSummary.class);
    assertEquals(2, summaries.size(), "one for the stage that writes, one for the stage that reads");
    for (Counter counter : List.of(Counter.WRITE_RECORDS, Counter.WRITE_ROW_BYTES, Counter.WRITE_BLOCK_BYTES,
        Counter.WRITE_STOCK_BYTES, Counter.WRITE_ENCODE_NANOS, Counter.WRITE_COMMIT_CPU_NANOS, Counter.READ_RECORDS,
        Counter.READ_FRAMES, Counter.READ_ENCODED_BYTES, Counter.READ_LOCAL_BYTES, Counter.READ_DECODE_NANOS)) {
      long sum = summaries.stream().mapToLong(each -> each.figures().getOrDefault(counter.id(), 0L)).sum();
      assertTrue(sum > 0, counter::id);
      assertEquals(spark.counter(counter), sum, counter::id);
    }
    List<Integer> stages = new ArrayList<>(summaries.stream().map(StageSummary::stageId).toList());
    assertEquals(2, stages.stream().distinct().count());
  }

  @Test
  void executorsSayWhatTheyCanDo() throws TimeoutException {
    start(withEventLog());
    shuffle();
    List<ExecutorSelfTest> tests = posted(ExecutorSelfTest.class);
    assertEquals(1, tests.size());
    assertTrue(tests.get(0).nativeCore(), tests.get(0)::detail);
    assertTrue(posted(ExecutorFigures.class).get(0).figures().get("memory.peakBytes") > 0);
  }

  @Test
  void aFallbackComesWithItsReasonInWords() throws TimeoutException {
    start(withEventLog());
    spark.session().conf().set("spark.sluice.enabled", "false");
    shuffle();
    ShuffleRegistered event = posted(ShuffleRegistered.class).get(0);
    assertEquals(ShuffleRegistered.SPARK, event.path());
    assertEquals("DISABLED", event.reason());
    assertEquals("spark.sluice.enabled is false", event.reasonText());
    assertTrue(posted(StageSummary.class).isEmpty());
  }

  @Test
  void sparkWritesTheEventsToItsLog() throws TimeoutException, IOException {
    start(withEventLog());
    shuffle();
    spark.close();
    String log = log();
    for (Class<?> type : List.of(SettingsInForce.class, ShuffleRegistered.class, StageSummary.class,
        ExecutorSelfTest.class, ExecutorFigures.class)) {
      assertTrue(log.contains("{\"Event\":\"" + type.getName() + "\""), type::getName);
    }
    assertTrue(log.contains(
        "\"given\":{\"spark.sluice.memory.failOnLeak\":\"true\",\"spark.sluice.sql.cleanup\":\"off\"}"), log);
  }

  private String log() throws IOException {
    StringBuilder text = new StringBuilder();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).filter(each -> !each.toString().endsWith(".crc")).toList()) {
        text.append(readLog(file));
      }
    }
    return text.toString();
  }

  private static String readLog(Path file) throws IOException {
    return file.toString().endsWith(".zstd")
        ? new String(new com.github.luben.zstd.ZstdInputStream(Files.newInputStream(file)).readAllBytes())
        : Files.readString(file);
  }

  /** A listener of the user's, in the queue of Sluice's own and in Spark's. */
  @Test
  void aListenerThatThrowsForEveryEventHarmsNoOthers() throws TimeoutException {
    start(withEventLog());
    AtomicInteger thrown = new AtomicInteger();
    SparkListener broken = new SparkListener() {
      @Override
      public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof SluiceEvent) {
          thrown.incrementAndGet();
          throw new IllegalStateException("broken on purpose");
        }
      }

      @Override
      public void onStageCompleted(SparkListenerStageCompleted completed) {
        thrown.incrementAndGet();
        throw new IllegalStateException("broken on purpose");
      }
    };
    spark.session().sparkContext().listenerBus().addToQueue(broken, ApplicationEvents.QUEUE);
    spark.session().sparkContext().addSparkListener(broken);
    shuffle();
    assertTrue(thrown.get() > 4, "the listener was not called");
    assertEquals(1, posted(ShuffleRegistered.class).size());
    assertEquals(2, posted(StageSummary.class).size());
  }

  /** The driver registers the shuffle all the same, and does not try again. */
  @Test
  void aBusThatFailsIsLeftAlone() throws TimeoutException {
    start(withEventLog());
    shuffle();
    ShuffleDependency<?, ?, ?> dependency = (ShuffleDependency<?, ?, ?>) new JavaSparkContext(
        spark.session().sparkContext()).parallelizePairs(List.of(new Tuple2<>(1, 2))).partitionBy(
            new HashPartitioner(2))
        .rdd().dependencies().head();
    AtomicInteger calls = new AtomicInteger();
    ApplicationEvents failing = new ApplicationEvents(true, (context, event) -> {
      calls.incrementAndGet();
      throw new IllegalStateException("broken on purpose");
    });
    failing.shuffleRegistered(1, dependency, ShuffleRegistered.SQL_ROWS, null, null);
    failing.shuffleRegistered(2, dependency, ShuffleRegistered.SQL_ROWS, null, null);
    assertEquals(1, calls.get());
    assertNull(failing.figures(dependency), "tasks bring nothing that nobody posts");
  }

  @Test
  void withTheSettingOffNothingIsPosted() throws TimeoutException, IOException {
    Map<String, String> settings = new java.util.HashMap<>(withEventLog());
    settings.put("spark.sluice.ui.enabled", "false");
    start(settings);
    shuffle();
    spark.close();
    assertTrue(events.isEmpty());
    assertFalse(log().contains("\"Event\":\"io.sluice"));
  }

  @Test
  void withNobodyToReadThemNothingIsPosted() throws TimeoutException {
    start(Map.of());
    shuffle();
    assertTrue(events.isEmpty());
  }
}
