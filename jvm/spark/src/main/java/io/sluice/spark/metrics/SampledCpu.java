package io.sluice.spark.metrics;

import java.util.function.LongSupplier;

/**
 * CPU time of work that one thread does in many short pieces. It is measured of every eighth, because a reading of
 * {@link ThreadCpuClock} is a system call; the others are taken to have had the same share of the time that passed. Not
 * thread-safe.
 */
final class SampledCpu {
  private static final int DISTANCE = 8;
  private static final long NOT_MEASURED = -1;

  private final LongSupplier clock;
  private long pieces;
  private long nanos;
  private long measuredNanos;
  private long measuredCpuNanos;

  SampledCpu() {
    this(ThreadCpuClock::nanos);
  }

  /** @param clock of CPU time, never negative */
  SampledCpu(LongSupplier clock) {
    this.clock = clock;
  }

  /** A piece begins; returns what {@link #end} is to be given. */
  long begin() {
    return pieces++ % DISTANCE == 0 ? clock.getAsLong() : NOT_MEASURED;
  }

  /** A piece has ended, for which {@code pieceNanos} have passed. */
  void end(long begun, long pieceNanos) {
    nanos += pieceNanos;
    if (begun != NOT_MEASURED) {
      measuredNanos += pieceNanos;
      measuredCpuNanos += clock.getAsLong() - begun;
    }
  }

  /** The CPU time of all pieces since the last call. */
  long take() {
    long cpuNanos = measuredNanos == nanos ? measuredCpuNanos
        : measuredNanos == 0 ? 0 : Math.round((double) measuredCpuNanos / measuredNanos * nanos);
    pieces = 0;
    nanos = 0;
    measuredNanos = 0;
    measuredCpuNanos = 0;
    return cpuNanos;
  }
}
