package io.sluice.spark.fetch;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * The fetched blocks that wait in the queue of Spark's fetch iterator. The queue is private to Spark, so they are
 * counted on their way in, by {@link ArrivalTrackingClient}, and on their way out, by {@link RemoteBlocks}.
 *
 * <p>A block counts as waiting only when Spark's listener has returned, so the number is never larger than the queue.
 * All methods may be called from any thread; {@link #take} and {@link #await} belong to the reader.
 */
final class ArrivedBlocks {
  /** By block id: the buffers that Spark's listener got for blocks that the reader has not taken yet. */
  private final Map<String, ManagedBuffer> buffers = new HashMap<>();
  private long waiting;
  private boolean failed;

  /** {@code buffer} is about to be given to Spark's listener. */
  synchronized void arriving(String blockId, ManagedBuffer buffer) {
    buffers.put(blockId, buffer);
  }

  /** Spark's listener has put the block into the queue. */
  synchronized void arrived() {
    waiting++;
    notifyAll();
  }

  /** Spark's listener got a failure; its iterator may fetch the block again or fail. */
  synchronized void failed() {
    failed = true;
    notifyAll();
  }

  /** The buffer of the block that Spark's iterator has just returned; null when it did not come through the client. */
  synchronized ManagedBuffer take(String blockId) {
    ManagedBuffer buffer = buffers.remove(blockId);
    waiting -= buffer == null ? 0 : 1;
    return buffer;
  }

  /** Whether Spark's iterator can return a block without waiting for the network. */
  synchronized boolean isNextAtHand() {
    return waiting > 0;
  }

  /** Waits up to {@code millis} until a block has arrived or failed; whether one has. */
  synchronized boolean await(long millis) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    long left = millis;
    while (waiting <= 0 && !failed && left > 0) {
      wait(left);
      left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    }
    return waiting > 0 || failed;
  }
}
