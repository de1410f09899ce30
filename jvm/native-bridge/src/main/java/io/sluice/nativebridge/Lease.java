package io.sluice.nativebridge;

/**
 * A piece of arena memory; the holder of this object owns it until {@link #close()}.
 *
 * <p>Not thread-safe; hand it over through a queue or not at all. Closing twice is a no-op.
 */
public final class Lease implements AutoCloseable {
  private final long bytes;
  private long address;

  private Lease(long address, long bytes) {
    this.address = address;
    this.bytes = bytes;
  }

  /** A lease of {@code bytes}, or null when the arena's limit refuses it. */
  public static Lease tryTake(long bytes) {
    long address = NativeCore.lease(bytes);
    if (address == NativeCore.NO_MEMORY) {
      return null;
    }
    NativeException.check(address);
    return new Lease(address, bytes);
  }

  /** Start of the memory, 64-byte aligned. */
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
      NativeException.check(NativeCore.release(freed));
    }
  }
}
