package io.sluice.spark.metrics;

import io.sluice.nativebridge.FrameHeader;

/**
 * One reader's counts, added to the executor's counters, and to the exchange's metrics in the SQL plan, when it ends.
 * Not thread-safe.
 */
public final class ReadCounts {
  private final Counters counters;
  /** Null for none. */
  private final ExchangeMetrics exchange;
  private long records;
  private long encodedBytes;
  private long decodedBytes;
  private long decodeNanos;
  private final SampledCpu decodeByTask = new SampledCpu();
  private long localBlocks;
  private long localBytes;
  private long remoteBlocks;
  private long remoteBytes;
  private long oneSidedBytes;
  private long fetchWaitNanos;
  private long framesByTask;
  private long framesByPool;

  public ReadCounts(Counters counters) {
    this(counters, null);
  }

  /** @param exchange the metrics of the exchange whose rows are read; null for none */
  public ReadCounts(Counters counters, ExchangeMetrics exchange) {
    this.counters = counters;
    this.exchange = exchange;
  }

  public void decoded(FrameHeader header, long nanos, boolean byPool) {
    records += header.records();
    encodedBytes += FrameHeader.BYTES + header.encodedBytes();
    decodedBytes += header.decodedBytes();
    decodeNanos += nanos;
    if (byPool) {
      framesByPool++;
    } else {
      framesByTask++;
    }
  }

  /** Time of decoding frames that {@link #decoded} was told of without it. */
  public void decodedFor(long nanos) {
    decodeNanos += nanos;
  }

  /** The task's thread begins to decode frames; returns what {@link #endDecodingByTask} is to be given. */
  public long beginDecodingByTask() {
    return decodeByTask.begin();
  }

  /** The task's thread has decoded frames, for which {@code nanos} have passed. */
  public void endDecodingByTask(long begun, long nanos) {
    decodeByTask.end(begun, nanos);
  }

  /** A record of Spark's format, which has no frames. */
  public void record() {
    records++;
  }

  public void localBlock(long bytes) {
    localBlocks++;
    localBytes += bytes;
  }

  /** A block of Spark's fetch iterator: its size, and whether it was read one-sidedly. */
  public void remoteBlock(long bytes, boolean oneSided) {
    remoteBlocks++;
    remoteBytes += bytes;
    if (oneSided) {
      oneSidedBytes += bytes;
    }
  }

  /** Time that passed until Spark's fetch iterator gave a block. */
  public void fetchWaited(long nanos) {
    fetchWaitNanos += nanos;
  }

  /** Adds the counts since the last call to the counters. */
  public void flush() {
    counters.add(Counter.READ_LOCAL_BLOCKS, localBlocks);
    counters.add(Counter.READ_LOCAL_BYTES, localBytes);
    counters.add(Counter.READ_REMOTE_BLOCKS, remoteBlocks);
    counters.add(Counter.READ_REMOTE_BYTES, remoteBytes);
    counters.add(Counter.READ_ONE_SIDED_BYTES, oneSidedBytes);
    counters.add(Counter.READ_FETCH_WAIT_NANOS, fetchWaitNanos);
    counters.add(Counter.READ_FRAMES, framesByTask + framesByPool);
    counters.add(Counter.READ_FRAMES_BY_TASK, framesByTask);
    counters.add(Counter.READ_FRAMES_BY_POOL, framesByPool);
    counters.add(Counter.READ_RECORDS, records);
    counters.add(Counter.READ_ENCODED_BYTES, encodedBytes);
    counters.add(Counter.READ_DECODED_BYTES, decodedBytes);
    counters.add(Counter.READ_DECODE_NANOS, decodeNanos);
    counters.add(Counter.READ_DECODE_BY_TASK_CPU_NANOS, decodeByTask.take());
    if (exchange != null) {
      exchange.read(framesByTask + framesByPool, decodeNanos, fetchWaitNanos);
    }
    localBlocks = 0;
    localBytes = 0;
    remoteBlocks = 0;
    remoteBytes = 0;
    oneSidedBytes = 0;
    fetchWaitNanos = 0;
    framesByTask = 0;
    framesByPool = 0;
    records = 0;
    encodedBytes = 0;
    decodedBytes = 0;
    decodeNanos = 0;
  }
}
