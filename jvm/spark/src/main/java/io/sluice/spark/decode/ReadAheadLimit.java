package io.sluice.spark.decode;

import java.util.concurrent.atomic.LongAdder;

/**
 * One task's limit on the bytes of frames and rows that its readers decode ahead of their consumers ({@code
 * spark.sluice.reader.maxBytesInFlight}). The one batch that a task needs to make progress is not counted, and a
 * request that is larger than the limit is admitted while nothing else is in flight. No reader waits for this limit:
 * when a request is refused, the reader reads less far ahead. All methods may be called from any thread.
 */
public final class ReadAheadLimit {
  private final long limitBytes;
  /** Of all tasks. */
  private final LongAdder inFlight;
  private long usedBytes;

  public ReadAheadLimit(long limitBytes) {
    this(limitBytes, new LongAdder());
  }

  /** @param inFlight counts what is in flight, for several limits together */
  ReadAheadLimit(long limitBytes, LongAdder inFlight) {
    this.limitBytes = limitBytes;
    this.inFlight = inFlight;
  }

  synchronized boolean tryAcquire(long bytes) {
    boolean fits = usedBytes == 0 || bytes <= limitBytes - usedBytes;
    if (fits) {
      usedBytes += bytes;
      inFlight.add(bytes);
    }
    return fits;
  }

  synchronized void release(long bytes) {
    if (bytes > usedBytes) {
      throw new IllegalStateException("released " + bytes + " bytes of " + usedBytes + " in flight");
    }
    usedBytes -= bytes;
    inFlight.add(-bytes);
  }

  public synchronized long usedBytes() {
    return usedBytes;
  }
}
