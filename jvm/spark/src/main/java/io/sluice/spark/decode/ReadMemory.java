package io.sluice.spark.decode;

import io.sluice.nativebridge.Lease;
import io.sluice.spark.memory.TaskMemory;
import java.util.concurrent.atomic.AtomicBoolean;

/** Where a reader takes its memory from: the task's account ({@link #of}). */
public interface ReadMemory {
  /** Off-heap memory; the caller that took it frees it. */
  interface Piece {
    long address();

    long bytes();

    /** Gives it back; once. From any thread. */
    void free();

    /** Takes it out of the task's account: it may now be freed after the task's end, by another thread. */
    void detach();
  }

  /**
   * Waits for memory if it must.
   *
   * @param what the purpose of the memory, for the error
   * @throws io.sluice.spark.SluiceException when there is none in time
   */
  Piece take(long bytes, String what);

  /** Null when there is no memory at once. */
  Piece tryTake(long bytes);

  /**
   * A piece without memory, whose address is 0: it counts what native code allocates itself. Null when there is no
   * room for so much, even after the task's writer has spilled.
   */
  Piece tryReserve(long bytes);

  /**
   * Throws {@link io.sluice.spark.SluiceException}, with the setting to change, when a task can never have {@code
   * bytes}.
   */
  void failIfNeverGranted(long bytes, String what);

  static ReadMemory of(TaskMemory memory) {
    return new ReadMemory() {
      @Override
      public Piece take(long bytes, String what) {
        return piece(memory, memory.lease(bytes, what));
      }

      @Override
      public Piece tryTake(long bytes) {
        Lease lease = memory.tryLease(bytes);
        return lease == null ? null : piece(memory, lease);
      }

      @Override
      public Piece tryReserve(long bytes) {
        return memory.tryReserve(bytes) ? reservation(memory, bytes) : null;
      }

      @Override
      public void failIfNeverGranted(long bytes, String what) {
        memory.failIfNeverGranted(bytes, what);
      }
    };
  }

  /**
   * The same account for what the task can do without: {@link #tryTake} gives no more than a quarter of what one task
   * may have, spills nothing for it, and leaves alone what other tasks are entitled to.
   */
  static ReadMemory sparing(TaskMemory memory) {
    ReadMemory all = of(memory);
    return new ReadMemory() {
      @Override
      public Piece take(long bytes, String what) {
        return all.take(bytes, what);
      }

      @Override
      public Piece tryTake(long bytes) {
        Lease lease = memory.tryLeaseResident(bytes, memory.mostBytes() / 4);
        return lease == null ? null : piece(memory, lease);
      }

      @Override
      public Piece tryReserve(long bytes) {
        return all.tryReserve(bytes);
      }

      @Override
      public void failIfNeverGranted(long bytes, String what) {
        all.failIfNeverGranted(bytes, what);
      }
    };
  }

  private static Piece reservation(TaskMemory memory, long bytes) {
    return new Piece() {
      private final AtomicBoolean given = new AtomicBoolean();

      @Override
      public long address() {
        return 0;
      }

      @Override
      public long bytes() {
        return bytes;
      }

      @Override
      public void free() {
        if (given.compareAndSet(false, true)) {
          memory.unreserve(bytes);
        }
      }

      @Override
      public void detach() {
        free();
      }
    };
  }

  private static Piece piece(TaskMemory memory, Lease lease) {
    return new Piece() {
      @Override
      public long address() {
        return lease.address();
      }

      @Override
      public long bytes() {
        return lease.bytes();
      }

      @Override
      public void free() {
        memory.free(lease);
      }

      @Override
      public void detach() {
        memory.detach(lease);
      }
    };
  }
}
