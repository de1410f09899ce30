package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.Await;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Many tasks on a transport that delays, reorders, loses and is stopped: every block is still reported exactly once.
 */
@Timeout(120)
class TransportStressTest {
  private static final int TASKS = 6;
  private static final int REQUESTS = 150;
  private static final int BLOCKS = 7;
  private static final long RETRY_NANOS = 2_000_000;
  private static final int[] REASONS = {
    NativeTransport.NOT_FOUND, NativeTransport.PEER, NativeTransport.TIMEOUT, NativeCore.NO_MEMORY, NativeCore.PANIC
  };

  private final FakeBlockTransport transport = new FakeBlockTransport();
  private final FakeSparkClient sparks = new FakeSparkClient();
  private final RecordingListener listener = new RecordingListener();
  private final Counters counters = new Counters();

  /** Completes each request's blocks in a random order after random delays; one in {@code lossEvery} with a reason. */
  private void completeAtRandom(ScheduledExecutorService wire, Random random, int lossEvery) {
    transport.onFetch = fetch -> {
      for (int i = 0; i < fetch.size(); i++) {
        int index = i;
        long block = fetch.blocks()[NativeTransport.BLOCK_LONGS * i + 1];
        boolean lost;
        int reason;
        long delay;
        synchronized (random) {
          lost = random.nextInt(lossEvery) == 0;
          reason = REASONS[random.nextInt(REASONS.length)];
          delay = random.nextInt(3_000);
        }
        wire.schedule(() -> {
          if (lost) {
            transport.fail(fetch, index, reason);
          } else {
            transport.deliver(fetch, index, content(block));
          }
        }, delay, TimeUnit.MICROSECONDS);
      }
    };
  }

  private static byte[] content(long block) {
    return ("one-sided " + block).getBytes(StandardCharsets.US_ASCII);
  }

  private static String[] ids(int task, int request) {
    String[] ids = new String[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
      ids[i] = "shuffle_1_" + ((long) task * REQUESTS * BLOCKS + (long) request * BLOCKS + i) + "_0";
    }
    return ids;
  }

  @ParameterizedTest
  @CsvSource({"1, 1000000, false", "2, 20, false", "3, 3, false", "4, 20, true", "5, 3, true"})
  void everyBlockIsReportedToItsListenerOnce(long seed, int lossEvery, boolean stop) throws Exception {
    ScheduledExecutorService wire = Executors.newScheduledThreadPool(2);
    ExecutorService tasks = Executors.newFixedThreadPool(TASKS);
    TransportService service = new TransportService(transport, counters, RETRY_NANOS, 0, System::nanoTime, () -> 0);
    try {
      completeAtRandom(wire, new Random(seed), lossEvery);
      service.learn(new PeerUpdate(1, Map.of("0", new byte[] {0}, "1", new byte[] {1}), List.of()));
      run(tasks, service, stop);
      int all = TASKS * REQUESTS * BLOCKS;
      Await.until("all blocks are told of", () -> listener.told() >= all);
      assertEquals(all, listener.told());
      checkContents();
    } finally {
      tasks.shutdownNow();
      // No completion comes after the wire has ended; the leases of late ones are freed by the polling thread, or by
      // the fake.
      wire.shutdown();
      wire.awaitTermination(1, TimeUnit.MINUTES);
      listener.releaseAll();
      service.close();
      transport.stop();
    }
    assertEquals(0, transport.leases());
    assertEquals(List.of(), transport.misuses);
  }

  private void run(ExecutorService tasks, TransportService service, boolean stop)
      throws InterruptedException, ExecutionException {
    BlockStoreClient client = service.client(sparks);
    List<Future<?>> running = new ArrayList<>();
    for (int task = 0; task < TASKS; task++) {
      int id = task;
      running.add(tasks.submit(() -> {
        for (int request = 0; request < REQUESTS; request++) {
          client.fetchBlocks("host", 1, Integer.toString(request % 2), ids(id, request), listener, null);
        }
      }));
    }
    if (stop) {
      Thread.sleep(3);
      service.close();
    }
    for (Future<?> one : running) {
      one.get();
    }
  }

  private void checkContents() {
    long oneSided = 0;
    for (String id : listener.outcomes.keySet()) {
      byte[] bytes = listener.of(id).bytes();
      byte[] expected = content(Long.parseLong(id.split("_")[2]));
      if (bytes.length == expected.length && bytes[0] == expected[0]) {
        assertArrayEquals(expected, bytes);
        oneSided++;
      } else {
        assertArrayEquals(FakeSparkClient.content(id), bytes);
      }
    }
    long received = oneSided;
    Await.until("all is counted", () -> counters.get(Counter.TRANSPORT_BLOCKS) == received);
    assertEquals(listener.outcomes.size() - received, sparks.asked().size());
  }
}
