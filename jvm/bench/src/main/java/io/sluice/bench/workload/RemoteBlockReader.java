package io.sluice.bench.workload;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NettyManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.shuffle.ShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Reads the blocks of one shuffle that lie on other executors, within a task, with as many bytes asked for at once as
 * Spark's reduce tasks have by default. Used by the task's thread; blocks come on the client's threads.
 */
final class RemoteBlockReader {

  /** Spark's defaults: 48 MiB in flight, a fifth of them a request. */
  private static final long IN_FLIGHT_BYTES = 48L << 20;
  private static final long REQUEST_BYTES = IN_FLIGHT_BYTES / 5;
  private static final long ANSWER_SECONDS = 60;
  /** For the executors to hear of each other. */
  private static final long ONE_SIDED_SECONDS = 30;
  private static final long RETRY_MS = 100;
  private static final Set<String> ONE_SIDED_MODES = Set.of("UCX", "RDMA");
  private static final String SLUICE = "io.sluice.spark.";

  private final BlockStoreClient client = client();
  private final List<Request> requests;
  private final BlockingQueue<Answer> answers = new LinkedBlockingQueue<>();
  private final boolean oneSided = ONE_SIDED_MODES.contains(SparkEnv.get().conf().get("spark.sluice.mode", ""));

  /** Blocks of one executor that are asked for together; how large they are is the map output tracker's estimate. */
  private record Request(BlockManagerId from, List<String> blocks, long bytes) {}

  /** A block, or why it did not come: then {@code buffer} is null. */
  private record Answer(String block, ManagedBuffer buffer, Throwable failure) {}

  /** A block that was read and given back. */
  private record Taken(long bytes, boolean byNetty) {}

  /** Of all partitions of {@code shuffle}, whose map outputs must be there. */
  RemoteBlockReader(int shuffle, int partitions) {
    this.requests = requests(SparkEnv.get().mapOutputTracker()
        .getMapSizesByExecutorId(shuffle, 0, Integer.MAX_VALUE, 0, partitions));
  }

  /** That of the shuffle manager; by reflection, because stock applications run without Sluice's jar. */
  private static BlockStoreClient client() {
    SparkEnv env = SparkEnv.get();
    ShuffleManager manager = env.shuffleManager();
    if (!manager.getClass().getName().startsWith(SLUICE)) {
      return env.blockManager().blockStoreClient();
    }
    try {
      Object state = manager.getClass().getMethod("executorState").invoke(manager);
      return (BlockStoreClient) state.getClass().getMethod("blockClient", BlockManager.class)
          .invoke(state, env.blockManager());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the client of Sluice's reduce tasks cannot be reached in this build", e);
    }
  }

  private static List<Request> requests(
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> addresses) {
    BlockManagerId own = SparkEnv.get().blockManager().blockManagerId();
    List<Request> requests = new ArrayList<>();
    while (addresses.hasNext()) {
      Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> address = addresses.next();
      if (!address._1().executorId().equals(own.executorId())) {
        addRequests(address._1(), address._2().iterator(), requests);
      }
    }
    return requests;
  }

  private static void addRequests(BlockManagerId from, Iterator<Tuple3<BlockId, Object, Object>> blocks,
      List<Request> requests) {
    List<String> names = new ArrayList<>();
    long bytes = 0;
    while (blocks.hasNext()) {
      Tuple3<BlockId, Object, Object> block = blocks.next();
      names.add(block._1().name());
      bytes += (Long) block._2();
      if (bytes >= REQUEST_BYTES || !blocks.hasNext()) {
        requests.add(new Request(from, names, bytes));
        names = new ArrayList<>();
        bytes = 0;
      }
    }
  }

  /**
   * Reads all blocks so many times and adds bytes and time to the task's metrics.
   *
   * @throws IllegalStateException if a block does not come; in a mode that reads one-sidedly also if one came by
   *     Spark's block transfer, because the figures would be that one's
   */
  void read(int rounds) throws InterruptedException {
    if (requests.isEmpty()) {
      return;
    }
    awaitOneSided();
    long start = System.nanoTime();
    long bytes = 0;
    for (int round = 0; round < rounds; round++) {
      bytes += readOnce();
    }
    ShuffleReadMetrics metrics = TaskContext.get().taskMetrics().shuffleReadMetrics();
    metrics.incRemoteBytesRead(bytes);
    metrics.incFetchWaitTime(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
  }

  /** Until an executor that was just heard of is read so. */
  private void awaitOneSided() throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(ONE_SIDED_SECONDS);
    for (Request request : requests) {
      Request first = new Request(request.from(), request.blocks().subList(0, 1), 0);
      ask(first);
      while (take().byNetty() && oneSided) {
        if (System.nanoTime() > end) {
          throw new IllegalStateException("executor " + request.from().executorId() + " is not read one-sidedly");
        }
        Thread.sleep(RETRY_MS);
        ask(first);
      }
    }
  }

  private long readOnce() throws InterruptedException {
    long bytes = 0;
    long asked = 0;
    int open = 0;
    int next = 0;
    while (next < requests.size() || open > 0) {
      while (next < requests.size() && (open == 0 || asked + requests.get(next).bytes() <= IN_FLIGHT_BYTES)) {
        ask(requests.get(next));
        asked += requests.get(next).bytes();
        open += requests.get(next).blocks().size();
        next++;
      }
      Taken block = take();
      if (oneSided && block.byNetty()) {
        throw new IllegalStateException("a block came by Spark's block transfer");
      }
      asked -= block.bytes();
      bytes += block.bytes();
      open--;
    }
    return bytes;
  }

  private void ask(Request request) {
    client.fetchBlocks(request.from().host(), request.from().port(), request.from().executorId(),
        request.blocks().toArray(String[]::new), new BlockFetchingListener() {
          @Override
          public void onBlockFetchSuccess(String block, ManagedBuffer data) {
            answers.add(new Answer(block, data.retain(), null));
          }

          @Override
          public void onBlockFetchFailure(String block, Throwable failure) {
            answers.add(new Answer(block, null, failure));
          }
        }, null);
  }

  /** The next block; its memory is given back. */
  private Taken take() throws InterruptedException {
    Answer answer = answers.poll(ANSWER_SECONDS, TimeUnit.SECONDS);
    if (answer == null || answer.buffer() == null) {
      throw new IllegalStateException(
          answer == null ? "no block came within " + ANSWER_SECONDS + " s" : answer.block() + " did not come",
          answer == null ? null : answer.failure());
    }
    Taken taken = new Taken(answer.buffer().size(), answer.buffer() instanceof NettyManagedBuffer);
    answer.buffer().release();
    return taken;
  }
}
