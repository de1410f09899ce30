package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.events.ExecutorFallbacks;
import io.sluice.spark.events.ExecutorFigures;
import io.sluice.spark.events.ExecutorLatencies;
import io.sluice.spark.events.ExecutorPeers;
import io.sluice.spark.events.ExecutorSelfTest;
import io.sluice.spark.events.PlanNodesLeft;
import io.sluice.spark.events.SettingsInForce;
import io.sluice.spark.events.ShuffleColumns;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.events.StageSummary;
import io.sluice.spark.events.StageTasks;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import io.sluice.spark.policy.FallbackReason;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.status.KVUtils;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.apache.spark.util.kvstore.KVStore;
import org.junit.jupiter.api.Test;

import org.apache.spark.util.JsonProtocol$;

class StatusListenerTest {
  @Test
  void figuresOfStagesAreAdded() {
    TestRows rows = new TestRows(10);
    rows.registered(1);
    rows.summary(1, 5, Map.of(Counter.WRITE_RECORDS, 10L, Counter.WRITE_BLOCK_BYTES, 100L));
    rows.summary(1, 5, Map.of(Counter.WRITE_RECORDS, 1L));
    rows.summary(1, 6, Map.of(Counter.READ_RECORDS, 11L));
    ShuffleRow row = rows.store.shuffle(1);
    assertEquals(11, row.of(Counter.WRITE_RECORDS));
    assertEquals(11, row.of(Counter.READ_RECORDS));
    assertEquals(List.of("5.0", "6.0"), row.stages());
    assertEquals(11, rows.store.application().total(Counter.WRITE_RECORDS));
  }

  @Test
  void theOldestShufflesAreForgottenAndTotalsStay() {
    TestRows rows = new TestRows(1_000);
    for (int shuffle = 0; shuffle < 10_000; shuffle++) {
      rows.registered(shuffle);
      rows.summary(shuffle, shuffle, Map.of(Counter.WRITE_RECORDS, 1L));
    }
    List<ShuffleRow> kept = rows.store.shuffles();
    assertEquals(1_000, kept.size());
    assertEquals(9_000, kept.get(0).shuffleId());
    assertEquals(10_000, rows.store.application().total(Counter.WRITE_RECORDS));
    assertEquals(10_000, rows.store.application().shuffles(ShuffleRegistered.SQL_ROWS));
    rows.summary(5, 20_000, Map.of(Counter.READ_RECORDS, 1L));
    assertNull(rows.store.shuffle(5), "it does not come back");
    assertEquals(1, rows.store.application().total(Counter.READ_RECORDS));
  }

  @Test
  void theSavingIsOfShufflesWithAnEstimate() {
    TestRows rows = new TestRows(10);
    rows.registered(1);
    rows.summary(1, 5, Map.of(Counter.WRITE_BLOCK_BYTES, 100L, Counter.WRITE_STOCK_BYTES, 300L));
    rows.summary(2, 6, Map.of(Counter.WRITE_BLOCK_BYTES, 7_000L));
    assertEquals(100, rows.store.application().total(ApplicationRow.ESTIMATED_BLOCK_BYTES));
    assertTrue(new OverviewContent(rows.store).html(name -> null).contains("so 200 B (67 %) less was written"));
  }

  /** As a log has them that another tool has written or that is damaged. */
  @Test
  void eventsWithoutFieldsOrWithWrongOnesHarmNoOthers() {
    TestRows rows = new TestRows(10);
    for (Class<?> event : List.of(SettingsInForce.class, ShuffleRegistered.class, StageSummary.class,
        ExecutorSelfTest.class, ExecutorFigures.class, ExecutorFallbacks.class, ExecutorLatencies.class,
        ExecutorPeers.class, PlanNodesLeft.class, ShuffleColumns.class, StageTasks.class)) {
      for (String fields : List.of("", ",\"figures\":{\"write.records\":null}", ",\"sorts\":{\"x\":null}",
          ",\"shuffleId\":-5,\"columns\":[{}]",
          ",\"executorId\":\"x\",\"slowest\":[{}],\"all\":{\"counts\":[1]}", ",\"tasks\":[1,2],\"encodeMicros\":[1]")) {
        rows.listener.onOtherEvent(
            JsonProtocol$.MODULE$.sparkEventFromJson("{\"Event\":\"" + event.getName() + "\"" + fields + "}"));
      }
    }
    rows.registered(1);
    rows.summary(1, 5, Map.of(Counter.WRITE_RECORDS, 10L));
    assertEquals(10, rows.store.shuffle(1).of(Counter.WRITE_RECORDS));
    for (PageContent page : SluiceTab.pages(rows.store)) {
      assertTrue(page.html(name -> null).length() > 100, page::title);
    }
  }

  /** As a disk that is full fails it, for a while. */
  @Test
  void aStoreThatFailsLosesRowsAndNothingElse() {
    TestRows rows = new TestRows(10);
    AtomicBoolean broken = new AtomicBoolean();
    KVStore failing = (KVStore) Proxy.newProxyInstance(KVStore.class.getClassLoader(), new Class<?>[] {KVStore.class},
        (proxy, method, arguments) -> {
          if (broken.get()) {
            throw new IOException("broken on purpose");
          }
          try {
            return method.invoke(rows.kvStore, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
    StatusListener listener = new StatusListener(failing, 10);
    ShuffleRegistered first = ShuffleRegistered.of(1, ShuffleRegistered.SQL_ROWS, null, null, 8, 3);
    broken.set(true);
    for (int i = 0; i < 100; i++) {
      listener.onOtherEvent(first);
      listener.onStageSubmitted(new SparkListenerStageSubmitted(TestStages.stage(4, 1, 2), null));
      listener.onStageCompleted(new SparkListenerStageCompleted(TestStages.stage(4, 1, 2)));
    }
    assertNull(rows.store.shuffle(1));
    broken.set(false);
    listener.onOtherEvent(first);
    assertEquals(ShuffleRegistered.SQL_ROWS, rows.store.shuffle(1).path());
    broken.set(true);
    for (int i = 0; i < 2_000; i++) {
      listener.onOtherEvent(first);
    }
    broken.set(false);
    listener.onOtherEvent(ShuffleRegistered.of(2, ShuffleRegistered.SQL_ROWS, null, null, 8, 3));
    assertNull(rows.store.shuffle(2), "after a thousand failures nothing is tried any more");
  }

  @Test
  void shufflesThatAreReadOneSidedlyHaveSparksWritesAndSluicesReads() throws Exception {
    TestRows rows = new TestRows(10);
    rows.oneSided(1, "CODEC_SPARK", FallbackReason.CODEC_SPARK.text());
    rows.summary(1, 5, Map.of(Counter.READ_RECORDS, 7L, Counter.READ_REMOTE_BYTES, 90L << 20,
        Counter.READ_ONE_SIDED_BYTES, 90L << 20, Counter.READ_FETCH_WAIT_NANOS, 3_000_000_000L));
    rows.executor("1", "host", true, "fine", Map.of("transport.bytes", 90L << 20));
    assertEquals(List.of("Readers of shuffle 1 waited 3.0 s for blocks of other executors."),
        rows.diagnosis().sentences());
    assertTrue(rows.store.shuffle(1).isWrittenBySpark());
    String shuffles = new ShufflesContent(rows.store).html(name -> null);
    assertTrue(shuffles.contains("Spark&#39;s format, read one-sidedly, because spark.sluice.codec is spark"),
        shuffles);
    assertTrue(shuffles.replace('\u00a0', ' ').contains("90.0 MiB (100 % one-sided)"), shuffles);
    String overview = new OverviewContent(rows.store).html(name -> null);
    PagesTest.assertIsWellFormed(overview);
    assertTrue(overview.contains("Spark&#39;s format, read one-sidedly</th><td>1</td>"), overview);
    assertTrue(overview.contains("Spark&#39;s sort shuffle</th><td>0</td>"), overview);
    assertTrue(overview.contains("one-sidedly</th><td>90.0 MiB"), overview);
    assertTrue(overview.contains("Rows read, those of Spark&#39;s format included</th><td>7</td>"), overview);
    assertTrue(overview.contains("took part</th><td>1, with Java 17.0.1, fine</td>"), overview);
    rows.oneSided(2, "AGGREGATOR", "it has an aggregator");
    assertTrue(rows.diagnosis().sentences().get(0)
        .startsWith("1 shuffle kept Spark's format, to be read one-sidedly, because it has an aggregator. There is"));
    rows.fallback(3, "DISABLED", FallbackReason.DISABLED.text());
    assertTrue(rows.diagnosis().sentences().stream()
        .anyMatch(each -> each.startsWith("1 shuffle went Spark's way because spark.sluice.enabled is false. Set")));
  }

  /** Spark may keep the store on disk. */
  @Test
  void rowsSurviveSparksSerializer() throws Exception {
    TestRows rows = new TestRows(10);
    rows.fallback(3, "AGGREGATOR", "it has an aggregator");
    rows.summary(3, 5, Map.of(Counter.WRITE_RECORDS, 1_234_567_890_123L));
    rows.executor("7", "host", false, "detail", Map.of("memory.peakBytes", 5L));
    LatencyCounts counts = new LatencyCounts(new long[] {3, 4}, 99, 50);
    rows.fetched("7", counts, "8", counts);
    rows.listener.onOtherEvent(ExecutorPeers.of("7", 2, 1, 1, List.of("8")));
    rows.fallbacks("7", Map.of("transport.nettyOther", 5L));
    rows.listener.onOtherEvent(PlanNodesLeft.of(Map.of("of a key", 2L), Map.of("of a subquery", 1L)));
    rows.listener.onOtherEvent(ShuffleColumns.of(3, 1, List.of(new ColumnBytes(0, 9, new long[] {1, 2}))));
    new TestStages(rows.listener).run(TestStages.stage(5, 4, 3), 0, 2);
    rows.listener
        .onOtherEvent(SettingsInForce.of("1", true, "UCX", new String[] {"sluice", "cache", "ucx"}, 1, false, 2,
            Map.of("spark.sluice.mode", "UCX")));
    KVUtils.KVStoreScalaSerializer serializer = new KVUtils.KVStoreScalaSerializer();
    for (Object row : List.of(rows.store.shuffle(3), rows.store.executor("7"), rows.store.application(),
        rows.store.timeline("5.0"))) {
      Object read = serializer.deserialize(serializer.serialize(row), row.getClass());
      InMemoryStore copy = new InMemoryStore();
      copy.write(read);
      assertEquals(new String(serializer.serialize(row)), new String(serializer.serialize(read)));
      assertEquals(pages(rowStore(row)), pages(copy));
    }
  }

  private static InMemoryStore rowStore(Object row) {
    InMemoryStore store = new InMemoryStore();
    try {
      store.write(row);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    return store;
  }

  private static String pages(InMemoryStore store) {
    StatusStore rows = new StatusStore(store);
    return new OverviewContent(rows).html(name -> null) + new ShufflesContent(rows).html(name -> null)
        + new ExecutorsContent(rows).html(name -> null) + new DiagnosisContent(rows).html(name -> null);
  }
}
