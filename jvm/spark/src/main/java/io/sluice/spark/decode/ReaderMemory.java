package io.sluice.spark.decode;

import io.sluice.spark.SluiceException;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * All pieces of memory that one reader holds. When the task ends while the reader's consumer, on another thread, still
 * fetches or decodes, the consumer becomes the owner of the pieces and frees them later.
 *
 * <p>All methods, and those of the pieces, may be called from any thread.
 */
public final class ReaderMemory implements ReadMemory {
  private final ReadMemory source;
  private final Counters counters;
  private final Set<Piece> held = Collections.newSetFromMap(new IdentityHashMap<>());
  private boolean left;

  /** @param source the task's account */
  public ReaderMemory(ReadMemory source, Counters counters) {
    this.source = source;
    this.counters = counters;
  }

  @Override
  public Piece take(long bytes, String what) {
    return track(source.take(bytes, what));
  }

  @Override
  public Piece tryTake(long bytes) {
    Piece piece = source.tryTake(bytes);
    return piece == null ? null : track(piece);
  }

  @Override
  public Piece tryReserve(long bytes) {
    Piece piece = source.tryReserve(bytes);
    return piece == null ? null : track(piece);
  }

  @Override
  public void failIfNeverGranted(long bytes, String what) {
    source.failIfNeverGranted(bytes, what);
  }

  private Piece track(Piece piece) {
    synchronized (this) {
      if (!left) {
        TrackedPiece tracked = new TrackedPiece(piece);
        held.add(tracked);
        return tracked;
      }
    }
    piece.free();
    throw new SluiceException("a reader of shuffle blocks wants memory after its task has ended");
  }

  /**
   * Takes all pieces out of the task's account, without freeing them: from now on the consumer alone owns them. It gets
   * no new ones.
   */
  public synchronized void leaveToConsumer() {
    counters.increment(Counter.READ_LEFT_TO_CONSUMER);
    left = true;
    held.forEach(Piece::detach);
  }

  private final class TrackedPiece implements Piece {
    private final Piece piece;

    TrackedPiece(Piece piece) {
      this.piece = piece;
    }

    @Override
    public long address() {
      return piece.address();
    }

    @Override
    public long bytes() {
      return piece.bytes();
    }

    /**
     * Under the lock, so that a piece is either freed before the others are taken out of the account, or is one of
     * them.
     */
    @Override
    public void free() {
      synchronized (ReaderMemory.this) {
        held.remove(this);
        piece.free();
      }
    }

    @Override
    public void detach() {
      piece.detach();
    }
  }
}
