package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.events.ExecutorFigures;
import io.sluice.spark.events.ExecutorLatencies;
import io.sluice.spark.events.ExecutorPeers;
import io.sluice.spark.events.ExecutorSelfTest;
import io.sluice.spark.events.SettingsInForce;
import io.sluice.spark.events.ShuffleColumns;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.events.StageSummary;
import io.sluice.spark.events.StageTasks;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import java.util.List;
import java.util.Map;
import org.apache.spark.status.KVUtils;
import org.apache.spark.util.kvstore.InMemoryStore;
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
        ExecutorSelfTest.class, ExecutorFigures.class, ExecutorLatencies.class, ExecutorPeers.class,
        ShuffleColumns.class,
        StageTasks.class)) {
      for (String fields : List.of("", ",\"figures\":{\"write.records\":null}", ",\"shuffleId\":-5,\"columns\":[{}]",
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
