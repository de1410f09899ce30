package io.sluice.spark.memory;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Asks a task's {@link Spillable} for memory: on the thread that registered it and nowhere else, because a writer is
 * not thread-safe. Rows may be pulled by other threads than the task's ({@code RDD.pipe}, thread pools of users,
 * Python writers); what those ask for is refused here, and they wait for memory instead. Any thread.
 */
final class TaskSpiller {
  /** A spillable and the only thread that may call it. */
  private record Registration(Spillable spillable, Thread owner) {}

  private volatile Registration registration;
  /** Read and written by the owner only. */
  private boolean spilling;

  /** The calling thread owns {@code spillable}; null when there is none any longer. */
  void register(Spillable spillable) {
    registration = spillable == null ? null : new Registration(spillable, Thread.currentThread());
  }

  /**
   * Moves memory to disk.
   *
   * @return how much was given back; 0 on another thread than the owner's, and within a spill
   */
  long spill(long bytes) throws IOException {
    Registration current = registration;
    if (current == null || current.owner() != Thread.currentThread() || spilling) {
      return 0;
    }
    spilling = true;
    try {
      return current.spillable().spill(bytes);
    } finally {
      spilling = false;
    }
  }

  /** Whether another thread than the calling one may spill, at a time of its own. */
  boolean belongsToAnotherThread() {
    Registration current = registration;
    return current != null && current.owner() != Thread.currentThread();
  }

  /** Whether a spill for the task's own needs gave anything back. */
  boolean makeRoom(long bytes) {
    try {
      return spill(bytes) > 0;
    } catch (IOException e) {
      throw new UncheckedIOException("spilling to make room for " + bytes + " bytes", e);
    }
  }
}
