package io.sluice.spark.decode;

import java.util.concurrent.TimeUnit;

/**
 * Decides which thread may use and free a reader's batches: the consumer while it runs one of their methods, otherwise
 * the thread that ends the task.
 *
 * <pre>
 *   IDLE ──begin──► BUSY ──end──► IDLE             the consumer fetches or decodes; no lock is held meanwhile
 *                   BUSY ──finish─► EXHAUSTED      it has come to the last row, and has freed the batches
 *   IDLE ──close──► CLOSED                         the task has ended: the thread that ends it frees the batches
 *                   BUSY ──close──► LEFT ──► CLOSED   the consumer was still busy: it frees the batches when it is done
 * </pre>
 *
 * Any thread; one consumer.
 */
final class ReaderState {
  /** How long {@link #close} waits for the consumer: enough for a decode or a read, not for the network. */
  private static final long CLOSE_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private enum State { IDLE, BUSY, EXHAUSTED, LEFT, CLOSED }

  private State state = State.IDLE;

  /** The consumer is about to use the batches; false when they are gone. */
  synchronized boolean begin() {
    boolean usable = state == State.IDLE;
    state = usable ? State.BUSY : state;
    return usable;
  }

  /** Ends {@link #begin}; false when the task has ended meanwhile: then the consumer frees the batches. */
  synchronized boolean end() {
    boolean owned = state == State.BUSY;
    state = owned ? State.IDLE : State.CLOSED;
    notifyAll();
    return owned;
  }

  /** The consumer has freed the batches, {@code atEnd} of the rows or because of an error. */
  synchronized void finish(boolean atEnd) {
    state = atEnd && state == State.BUSY ? State.EXHAUSTED : State.CLOSED;
    notifyAll();
  }

  synchronized boolean isExhausted() {
    return state == State.EXHAUSTED;
  }

  /** Whether the task has ended while the consumer was busy, and it has not freed the batches yet. */
  synchronized boolean isLeft() {
    return state == State.LEFT;
  }

  /** What the thread that ends the task must do. */
  enum Close { FREE_BATCHES, LEAVE_TO_CONSUMER, NOTHING }

  /**
   * The task has ended. Waits a moment for a busy consumer.
   *
   * @param leave run before the consumer can learn that the batches are left to it
   */
  synchronized Close close(Runnable leave) {
    awaitIdle();
    if (state == State.BUSY) {
      leave.run();
      state = State.LEFT;
      return Close.LEAVE_TO_CONSUMER;
    }
    boolean free = state == State.IDLE;
    state = free ? State.CLOSED : state;
    return free ? Close.FREE_BATCHES : Close.NOTHING;
  }

  private void awaitIdle() {
    boolean interrupted = false;
    long deadline = System.nanoTime() + CLOSE_WAIT_NANOS;
    long left = CLOSE_WAIT_NANOS;
    while (state == State.BUSY && left > 0) {
      try {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      } catch (InterruptedException e) {
        interrupted = true;
      }
      left = deadline - System.nanoTime();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
