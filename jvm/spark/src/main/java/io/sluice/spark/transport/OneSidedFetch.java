package io.sluice.spark.transport;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request of Spark's fetch iterator, on its way one-sidedly. Each of its blocks is settled once, by the first
 * thread that reports it: as received, and then the listener gets it; or as missed, and then Spark's block transfer is
 * asked for it, together with others that were missed ({@link MissedBlocks}).
 *
 * <p>Any thread. The listener is called without a lock.
 */
final class OneSidedFetch {
  private static final Logger LOG = LoggerFactory.getLogger(OneSidedFetch.class);

  private final String executorId;
  private final String[] ids;
  private final long[] blocks;
  private final BlockFetchingListener listener;
  private final SparksFetch sparks;
  private final boolean[] settled;
  private final List<String> missed = new ArrayList<>();
  private int open;
  private volatile PeerTable.Link link;

  /** The same request through Spark's block transfer. */
  @FunctionalInterface
  interface SparksFetch {
    void fetch(String[] ids, BlockFetchingListener listener);
  }

  /**
   * @param ids at least one
   * @param blocks the same as numbers
   * @param sparks for the blocks that are missed; may wait, and answers to {@code listener}
   */
  OneSidedFetch(String executorId, String[] ids, long[] blocks, BlockFetchingListener listener, SparksFetch sparks) {
    this.executorId = executorId;
    this.ids = ids.clone();
    this.blocks = blocks;
    this.listener = listener;
    this.sparks = sparks;
    this.settled = new boolean[ids.length];
    this.open = ids.length;
  }

  String executorId() {
    return executorId;
  }

  int size() {
    return ids.length;
  }

  long[] blocks() {
    return blocks;
  }

  /** The connection that it was started on. */
  PeerTable.Link link() {
    return link;
  }

  void startOn(PeerTable.Link connection) {
    link = connection;
  }

  /**
   * A block arrived: the listener gets it, unless it was settled before. Takes over the buffer's one reference; what
   * the listener does not retain is freed, as with Netty's buffers.
   *
   * @return whether the block was still open
   */
  boolean received(int index, ManagedBuffer buffer) {
    boolean first = settle(index, false);
    try {
      if (first) {
        listener.onBlockFetchSuccess(ids[index], buffer);
      }
    } catch (RuntimeException e) {
      LOG.error("The listener failed to take block {}", ids[index], e);
    } finally {
      buffer.release();
    }
    return first;
  }

  /**
   * A block will not arrive.
   *
   * @return whether it was still open
   */
  boolean missed(int index) {
    return settle(index, true);
  }

  /** All blocks that are still open will not arrive; returns how many. */
  int missedAll() {
    int count = 0;
    for (int i = 0; i < ids.length; i++) {
      count += missed(i) ? 1 : 0;
    }
    return count;
  }

  synchronized boolean isSettled() {
    return open == 0;
  }

  /** How many blocks did not arrive and were not handed out yet. */
  synchronized int missedCount() {
    return missed.size();
  }

  /** The blocks that did not arrive, handed out once; empty when there are none. */
  synchronized String[] takeMissed() {
    String[] taken = missed.toArray(new String[0]);
    missed.clear();
    return taken;
  }

  /** Asks Spark's block transfer for blocks. May wait for a connection. */
  void leaveToSpark(String[] blockIds) {
    try {
      sparks.fetch(blockIds, listener);
    } catch (Exception | AssertionError e) {
      // Spark's clients report failures to the listener; they throw only before they have sent a request.
      fail(blockIds, e);
    }
  }

  /** Tells the listener that blocks cannot be had at all. */
  void fail(String[] blockIds, Throwable cause) {
    for (String id : blockIds) {
      try {
        listener.onBlockFetchFailure(id, cause);
      } catch (RuntimeException e) {
        LOG.error("The listener failed to take the failure of block {}", id, e);
      }
    }
  }

  private synchronized boolean settle(int index, boolean asMissed) {
    if (settled[index]) {
      return false;
    }
    settled[index] = true;
    open--;
    if (asMissed) {
      missed.add(ids[index]);
    }
    return true;
  }
}
