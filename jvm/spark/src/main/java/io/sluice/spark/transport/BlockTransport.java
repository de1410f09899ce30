package io.sluice.spark.transport;

import io.sluice.nativebridge.TransportStatistics;

/**
 * Reads blocks of other processes one-sidedly. Executors use {@link NativeBlockTransport}; tests
 * have one in this process that loses, delays and reorders.
 *
 * <p>Results, completions and threads are those of {@link io.sluice.nativebridge.NativeTransport}: negative is a
 * reason, nothing here waits but {@link #poll}, every method may be called from any thread, {@link #poll} by one at a
 * time. After {@link #stop} every other method fails or does nothing.
 */
public interface BlockTransport {
  /** One line for the log. */
  String describe();

  /** The address with which peers {@link #connect}. */
  byte[] address();

  /** Makes a committed map output readable for peers; {@code offsets} has one element more than the partitions. */
  int publish(int shuffleId, long mapId, String dataFile, String indexFile, long[] offsets);

  /** Says that the file of a published output lies elsewhere now, behind the same path and with the same bytes. */
  int renew(int shuffleId, long mapId);

  /** Withdraws all published outputs of a shuffle. */
  int withdrawShuffle(int shuffleId);

  /**
   * Connects to a peer, under a number of the caller's choice, or to one again that has failed. A connection that has
   * been idle is closed, and {@link #fetch} opens it again.
   */
  int connect(long peer, byte[] address);

  /** Forgets a peer. */
  int disconnect(long peer);

  /**
   * Starts to read blocks of a peer.
   *
   * @param blocks four longs per block: shuffle id, map id, first partition, partition after the last
   * @return the request's number, above 0; or a reason, and no completion follows
   */
  long fetch(long peer, long[] blocks);

  /**
   * Waits for completions, each of five longs: request, index of the block, status, address, bytes. An address other
   * than 0 is memory that the receiver must {@link #release}.
   *
   * @return how many there are
   */
  int poll(long[] completions, int timeoutMillis);

  /** Gives back the memory of a completion; also after {@link #stop}. */
  void release(long address);

  /** Bytes that were read by system calls from processes of this machine; negative after {@link #stop}. */
  long cmaBytes();

  /**
   * The transport's statistics now.
   *
   * @throws RuntimeException after {@link #stop}, or when this one has no statistics
   */
  default TransportStatistics statistics() {
    throw new UnsupportedOperationException(describe() + " has no statistics");
  }

  /**
   * How far the connection to a peer has come: 0 = unknown or still connecting, 1 = ready (its self-test was passed in
   * this connection), negative = failed ({@link #peerError} says how).
   */
  int peerState(long peer);

  /** Why a peer last failed. */
  String peerError(long peer);

  /** The message of the last negative result on this thread. */
  String lastError();

  /** Ends everything; a {@link #poll} that waits returns a reason. */
  void stop();
}
