package io.sluice.nativebridge;

import java.util.function.LongConsumer;

/**
 * A piece of an {@link Arena}'s memory; the holder of this object owns it until {@link #close()}.
 *
 * <p>Not thread-safe; hand it over through a queue or not at all. Closing twice is a no-op.
 */
public final class Lease implements AutoCloseable {
  private final long bytes;
  private final LongConsumer release;
  private long address;

  private Lease(long address, long bytes, LongConsumer release) {
    this.address = address;
    this.bytes = bytes;
    this.release = release;
  }

  /**
   * Memory of another arena than the native core's.
   *
   * @param release frees it; is given the address, once
   */
  public static Lease of(long address, long bytes, LongConsumer release) {
    return new Lease(address, bytes, release);
  }

  /** A lease of {@code bytes} of the native core, or null when the arena's limit refuses it. */
  public static Lease tryTake(long bytes) {
    long address = NativeCore.lease(bytes);
    if (address == NativeCore.NO_MEMORY) {
      return null;
    }
    NativeException.check(address);
    return new Lease(address, bytes, taken -> NativeException.check(NativeCore.release(taken)));
  }

  /** Start of the memory, aligned for every type of number. */
  public long address() {
    if (address == 0) {
      throw new IllegalStateException("lease used after close");
    }
    return address;
  }

  /** Usable bytes. */
  public long bytes() {
    return bytes;
  }

  @Override
  public void close() {
    if (address != 0) {
      long freed = address;
      address = 0;
      release.accept(freed);
    }
  }
}
