package io.sluice.nativebridge;

/**
 * Where an executor's block memory comes from: the native core's arena, or, without the native library, one in Java. It
 * has one limit, and refuses what would exceed it. All methods may be called from any thread.
 */
public interface Arena {
  /** The native core's. */
  Arena NATIVE = new Arena() {
    @Override
    public Lease tryTake(long bytes) {
      return Lease.tryTake(bytes);
    }

    @Override
    public void setLimit(long bytes) {
      NativeException.check(NativeCore.setMemoryLimit(bytes));
    }

    @Override
    public long leasedBytes() {
      return NativeCore.leasedBytes();
    }

    @Override
    public ArenaFigures figures() {
      return ArenaFigures.of(
          NativeCore.arenaStatistics(), NativeCore.receiveArenaStatistics(), NativeCore.scratchBytes());
    }

    @Override
    public long scratchBytes() {
      return NativeCore.scratchBytes();
    }

    @Override
    public void addScratch(long bytes) {
      throw new UnsupportedOperationException("the native core counts its scratch memory itself");
    }

    @Override
    public long purge(boolean all) {
      return NativeCore.purge(all);
    }
  };

  /** A lease of {@code bytes}, or null when the limit refuses it. */
  Lease tryTake(long bytes);

  /** Sets the limit; memory already leased stays valid. */
  void setLimit(long bytes);

  /** Bytes now leased. */
  long leasedBytes();

  /** All figures at this moment. */
  ArenaFigures figures();

  /**
   * Gives free memory back to the operating system: all of it, or what has not been used for a while.
   *
   * @return bytes given back; with {@code all} false 0 may mean that they are not known
   */
  long purge(boolean all);

  /**
   * Counts memory that Java code keeps for encoding in {@link #scratchBytes}.
   *
   * @param bytes more, or negative for less
   * @throws UnsupportedOperationException by {@link #NATIVE}, which counts the native core's own
   */
  void addScratch(long bytes);

  /** Bytes outside of the Java heap and of the arena that encoders and decoders hold. */
  long scratchBytes();
}
