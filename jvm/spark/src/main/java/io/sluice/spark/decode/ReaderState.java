package io.sluice.spark.decode;

import java.util.concurrent.TimeUnit;

/**
 * Decides which thread may use and free a reader's batches: the consumer while it runs one of their methods, otherwise
 * the thread that ends the task.
 *
 * <pre>
 *   IDLE ──begin──► BUSY ──end──► IDLE       the consumer fetches or decodes; no lock is held meanwhile
 *   BUSY ──finish─► EXHAUSTED                the consumer read the last row and freed the batches
 *   IDLE ──close──► CLOSED                   the task ended: the thread that ends it frees the batches
 *   BUSY ──close──► CLOSED_WHILE_BUSY        the task ended while the consumer was busy,
 *                   ──end────► CLOSED        and the consumer frees the batches when it is done
 * </pre>
 *
 * Any thread; one consumer.
 */
public final class ReaderState {
  /** How long {@link #close} waits for the consumer: enough for a decode or a read, not for the network. */
  private static final long CLOSE_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private enum State { IDLE, BUSY, EXHAUSTED, CLOSED_WHILE_BUSY, CLOSED }

  private State state = State.IDLE;

  /** The consumer is about to use the batches; false if they have been freed. */
  public synchronized boolean begin() {
    boolean usable = state == State.IDLE;
    state = usable ? State.BUSY : state;
    return usable;
  }

  /** Ends {@link #begin}; false when the task has ended meanwhile: then the consumer frees the batches. */
  public synchronized boolean end() {
    boolean owned = state == State.BUSY;
    state = owned ? State.IDLE : State.CLOSED;
    notifyAll();
    return owned;
  }

  /** The consumer has freed the batches, {@code atEnd} of the rows or because of an error. */
  public synchronized void finish(boolean atEnd) {
    state = atEnd && state == State.BUSY ? State.EXHAUSTED : State.CLOSED;
    notifyAll();
  }

  synchronized boolean isExhausted() {
    return state == State.EXHAUSTED;
  }

  /** Whether the task has ended while the consumer was busy, and it has not freed the batches yet. */
  synchronized boolean isClosedWhileBusy() {
    return state == State.CLOSED_WHILE_BUSY;
  }

  /** What the thread that ends the task does with the batches. */
  public enum Close {
    FREE_BATCHES, CONSUMER_FREES_BATCHES, NOTHING
  }

  /**
   * The task has ended. Waits a moment for a busy consumer.
   *
   * @param beforeHandover run before the consumer can see that it must free the batches
   */
  public synchronized Close close(Runnable beforeHandover) {
    awaitIdle();
    if (state == State.BUSY) {
      beforeHandover.run();
      state = State.CLOSED_WHILE_BUSY;
      return Close.CONSUMER_FREES_BATCHES;
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
