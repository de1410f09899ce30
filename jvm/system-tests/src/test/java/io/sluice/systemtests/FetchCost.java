package io.sluice.systemtests;

import io.sluice.spark.SluiceShuffleManager;
import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.Serializable;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;

/**
 * What fetching blocks has cost, of all threads of both processes.
 *
 * @param bytes of blocks that came
 * @param seconds by the clock
 * @param readerSeconds of the processor, in the process that fetched
 * @param ownerSeconds of the processor, in the process that has the blocks
 * @param oneSidedBlocks read one-sidedly
 * @param nettyBlocks left to Spark's block transfer by the one-sided client
 */
record FetchCost(
    long bytes, double seconds, double readerSeconds, double ownerSeconds, long oneSidedBlocks, long nettyBlocks)
    implements
      Serializable {
  /** As Spark's iterator with its default settings: requests of about a fifth of 48 MiB, five of them open. */
  private static final int REQUEST_BYTES = 9 << 20;
  private static final int REQUESTS = 5;
  private static final int WARM_UPS = 8;
  private static final Duration LIMIT = Duration.ofSeconds(120);

  /** What is fetched, in a form that tasks can have. */
  record Order(MapOutput.Place place, String[] names, int blockBytes, boolean oneSided, long bytes)
      implements
        Serializable {}

  double readerSecondsPerGib() {
    return readerSeconds / bytes * (1L << 30);
  }

  double ownerSecondsPerGib() {
    return ownerSeconds / bytes * (1L << 30);
  }

  double mbPerSecond() {
    return bytes / seconds / 1e6;
  }

  /**
   * Fetches all of {@code order}'s blocks, round and round until there were so many bytes, after some rounds that do
   * not count. Null in the process that has the blocks.
   */
  static FetchCost of(Order order) throws Exception {
    SparkEnv env = SparkEnv.get();
    if (env.executorId().equals(order.place().executor())) {
      return null;
    }
    BlockStoreClient sparks = env.blockManager().blockStoreClient();
    SluiceShuffleManager manager = (SluiceShuffleManager) env.shuffleManager();
    BlockStoreClient client =
        order.oneSided() ? manager.executorState().blockClient(env.blockManager()) : sparks;
    warmUp(client, order, manager);
    FetchCost before = now(order, manager, 0);
    long bytes = 0;
    while (bytes < order.bytes()) {
      bytes += new Round(client, order).run();
    }
    FetchCost after = now(order, manager, bytes);
    return new FetchCost(bytes, after.seconds - before.seconds, after.readerSeconds - before.readerSeconds,
        after.ownerSeconds - before.ownerSeconds, after.oneSidedBlocks - before.oneSidedBlocks,
        after.nettyBlocks - before.nettyBlocks);
  }

  /** Until the code is compiled, and the two executors are connected. */
  private static void warmUp(BlockStoreClient client, Order order, SluiceShuffleManager manager) throws Exception {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    long left;
    int rounds = 0;
    do {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("blocks are left to Spark's block transfer: " + manager.counters().snapshot());
      }
      left = now(order, manager, 0).nettyBlocks;
      new Round(client, order).run();
      rounds++;
    } while (rounds < WARM_UPS || now(order, manager, 0).nettyBlocks > left);
  }

  /** What has been used so far. */
  private static FetchCost now(Order order, SluiceShuffleManager manager, long bytes) {
    Map<Counter, Long> counters = manager.counters().snapshot();
    return new FetchCost(bytes, System.nanoTime() / 1e9, processorSeconds(ProcessHandle.current().pid()),
        processorSeconds(order.place().process()), counters.get(Counter.TRANSPORT_BLOCKS),
        OneSidedReads.fetchedByNetty(counters));
  }

  private static double processorSeconds(long process) {
    return ProcessHandle.of(process).flatMap(handle -> handle.info().totalCpuDuration())
        .orElseThrow(() -> new IllegalStateException("the system does not tell what process " + process + " uses"))
        .toNanos() / 1e9;
  }

  /** All blocks once. What comes is dropped. */
  private static final class Round {
    private final BlockStoreClient client;
    private final Order order;
    private final Semaphore open = new Semaphore(REQUESTS);
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    Round(BlockStoreClient client, Order order) {
      this.client = client;
      this.order = order;
    }

    long run() throws Exception {
      String[] names = order.names();
      int blocks = Math.max(1, REQUEST_BYTES / order.blockBytes());
      for (int from = 0; from < names.length; from += blocks) {
        await(1);
        String[] request = Arrays.copyOfRange(names, from, Math.min(names.length, from + blocks));
        MapOutput.Place place = order.place();
        client.fetchBlocks(place.host(), place.port(), place.executor(), request, new Arrivals(request.length), null);
      }
      await(REQUESTS);
      return bytes.get();
    }

    private void await(int requests) throws Exception {
      if (!open.tryAcquire(requests, LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException("blocks did not come in " + LIMIT);
      }
      if (failure.get() != null) {
        throw new IOException("a block did not come", failure.get());
      }
    }

    /** Of one request. */
    private final class Arrivals implements BlockFetchingListener {
      private final AtomicInteger left;

      Arrivals(int blocks) {
        left = new AtomicInteger(blocks);
      }

      @Override
      public void onBlockFetchSuccess(String block, ManagedBuffer data) {
        bytes.addAndGet(data.size());
        end();
      }

      @Override
      public void onBlockFetchFailure(String block, Throwable cause) {
        failure.compareAndSet(null, cause);
        end();
      }

      private void end() {
        if (left.decrementAndGet() == 0) {
          open.release();
        }
      }
    }
  }
}
