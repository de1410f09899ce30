package io.sluice.spark.decode;

/**
 * The executor-wide bound on what is decoded or about to be, and not yet consumed, beyond the one batch that
 * each task needs to go on ({@code spark.sluice.reader.maxBytesInFlight}). Nobody waits for it: who is refused
 * reads less far ahead. All methods may be called from any thread.
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
