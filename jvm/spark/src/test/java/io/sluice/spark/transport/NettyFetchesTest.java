package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Requests of an executor whose host is dead wait for a connection; requests of other executors must not wait for that.
 */
@Timeout(60)
class NettyFetchesTest {
  private static final int REQUESTS = 20;

  private final NettyFetches nettyFetches = new NettyFetches();
  private final RecordingListener listener = new RecordingListener();
  private final CountDownLatch connected = new CountDownLatch(1);
  private final AtomicInteger connecting = new AtomicInteger();
  private final Map<String, List<String>> asked = new ConcurrentHashMap<>();

  @AfterEach
  void stop() {
    connected.countDown();
    nettyFetches.close();
  }

  private void add(String executorId, String block, OneSidedFetch.SparksFetch sparks) {
    String[] ids = {block};
    nettyFetches.add(new OneSidedFetch(executorId, ids, BlockRange.ofAll(ids), listener, sparks), ids);
  }

  private void addHealthy(String executorId, String block) {
    add(executorId, block, (ids, to) -> note(executorId, ids));
  }

  private void addDead(String executorId, int requests) {
    for (int i = 0; i < requests; i++) {
      add(executorId, "shuffle_1_" + i + "_0", (ids, to) -> {
        connecting.incrementAndGet();
        awaitConnection();
        note(executorId, ids);
      });
    }
  }

  private void awaitConnection() {
    try {
      connected.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void note(String executorId, String[] ids) {
    asked.computeIfAbsent(executorId, id -> new CopyOnWriteArrayList<>()).addAll(List.of(ids));
  }

  private int asked(String executorId) {
    return asked.getOrDefault(executorId, List.of()).size();
  }

  @Test
  void anUnreachableHostDoesNotDelayOtherHosts() {
    addDead("dead", REQUESTS);
    Await.until("the dead host is asked", () -> connecting.get() > 0);
    for (int i = 0; i < REQUESTS; i++) {
      addHealthy("healthy", "shuffle_2_" + i + "_0");
    }
    Await.until("the healthy one has been asked", () -> asked("healthy") == REQUESTS);
    assertTrue(connecting.get() <= 2, connecting + " threads wait for the dead host");
    assertEquals(0, asked("dead"));
    connected.countDown();
    Await.until("all have been asked", () -> asked("dead") == REQUESTS);
  }

  @Test
  void aRequestThatThrowsDoesNotStopLaterRequests() {
    for (int i = 0; i < REQUESTS; i++) {
      add("5", "shuffle_1_" + i + "_0", (ids, to) -> {
        throw new IllegalStateException("closed");
      });
    }
    addHealthy("5", "shuffle_2_0_0");
    Await.until("the last has been asked", () -> asked("5") == 1);
    Await.until("the others have failed", () -> listener.told() == REQUESTS);
  }

  @Test
  void requestsAddedBeforeCloseAreStillSent() {
    addDead("dead", REQUESTS);
    nettyFetches.close();
    nettyFetches.close();
    addHealthy("dead", "shuffle_2_0_0");
    addHealthy("healthy", "shuffle_2_1_0");
    assertInstanceOf(IOException.class, listener.of("shuffle_2_0_0").failure());
    assertInstanceOf(IOException.class, listener.of("shuffle_2_1_0").failure());
    connected.countDown();
    Await.until("all have been asked", () -> asked("dead") == REQUESTS);
    Await.until("its threads have ended", NettyFetchesTest::noThreads);
  }

  private static boolean noThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .noneMatch(thread -> thread.getName().startsWith("sluice-transport-netty-"));
  }
}
