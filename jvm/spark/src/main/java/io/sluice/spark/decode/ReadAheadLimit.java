package io.sluice.spark.decode;

/**
 * The executor-wide limit on the bytes of frames and rows that readers decode ahead of their consumers ({@code
 * spark.sluice.reader.maxBytesInFlight}). The one batch that each task needs to make progress is not counted. No reader
 * waits for this limit: when a request is refused, the reader reads less far ahead. All methods may be called from any
 * thread.
 */
public final class ReadAheadLimit {
  private final long limitBytes;
  private long usedBytes;

  public ReadAheadLimit(long limitBytes) {
    this.limitBytes = limitBytes;
  }

  synchronized boolean tryAcquire(long bytes) {
    boolean fits = bytes <= limitBytes - usedBytes;
    usedBytes += fits ? bytes : 0;
    return fits;
  }

  synchronized void release(long bytes) {
    if (bytes > usedBytes) {
      throw new IllegalStateException("released " + bytes + " bytes of " + usedBytes + " in flight");
    }
    usedBytes -= bytes;
  }

  public synchronized long usedBytes() {
    return usedBytes;
  }
}
