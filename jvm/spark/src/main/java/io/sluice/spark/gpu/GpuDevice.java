package io.sluice.spark.gpu;

import java.io.IOException;

/**
 * A GPU that encodes batches. Executors use {@link NativeGpuDevice}; tests have one in this process. All methods may be
 * called from any thread, and none but {@link #close} waits for the GPU.
 */
interface GpuDevice {
  /** Opens one. */
  @FunctionalInterface
  interface Opener {
    /**
     * May take seconds.
     *
     * @throws io.sluice.nativebridge.NativeException when there is none or it cannot be used; the reason says which
     * @throws IOException when its kernels cannot be unpacked
     */
    GpuDevice open() throws IOException;
  }

  /** One line for the log. */
  String describe();

  /** How many batches it encodes at a time, at most. */
  int lanes();

  /** Whether a batch of so many bytes of rows would be encoded by it now. */
  boolean prefers(long rowBytes);

  /** Lets it encode the batches that a native writer gets from now on. */
  void encodeFor(long writer);

  /**
   * Fills in the counts of {@link io.sluice.nativebridge.NativeGpu#STATISTICS}.
   *
   * @return false when it was closed
   */
  boolean statistics(long[] values);

  /** Why it is not used any more; empty while it is. */
  String lost();

  /** Gives it back. */
  void close();
}
