package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.SluiceException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.Platform;

/**
 * Memory that makes misuse visible: freed memory is filled with a pattern and kept mapped until {@link #close},
 * which also fails when something was not freed, was freed twice, or was written to after it was freed.
 */
public final class TestMemory implements ReadMemory, AutoCloseable {
  private static final byte POISON = (byte) 0xDB;

  private final List<TestPiece> pieces = new ArrayList<>();
  private boolean refuses;
  private long limitBytes = Long.MAX_VALUE;
  private long mostLiveBytes;
  private int waits;

  /** Makes {@link #tryTake} refuse from now on. */
  public synchronized void refuse(boolean refuses) {
    this.refuses = refuses;
  }

  /** The most that a task can get. */
  synchronized void limit(long bytes) {
    limitBytes = bytes;
  }

  /** The most bytes that were live at once. */
  synchronized long mostLiveBytes() {
    return mostLiveBytes;
  }

  /** Live pieces that are still in the task's account. */
  public synchronized long inAccount() {
    return pieces.stream().filter(piece -> piece.frees == 0 && !piece.detached).count();
  }

  /** How often a caller was ready to wait for memory. */
  synchronized int waits() {
    return waits;
  }

  public synchronized long live() {
    return pieces.stream().filter(piece -> piece.frees == 0).count();
  }

  synchronized long liveBytes() {
    return pieces.stream().filter(piece -> piece.frees == 0).mapToLong(piece -> piece.bytes).sum();
  }

  synchronized long taken() {
    return pieces.size();
  }

  @Override
  public synchronized Piece take(long bytes, String what) {
    waits++;
    return add(bytes);
  }

  @Override
  public synchronized Piece tryTake(long bytes) {
    return refuses ? null : add(bytes);
  }

  @Override
  public Piece tryReserve(long bytes) {
    return tryTake(bytes);
  }

  @Override
  public synchronized void failIfNeverGranted(long bytes, String what) {
    if (bytes > limitBytes) {
      throw new SluiceException(what + " needs " + bytes + " bytes, more than the test's limit");
    }
  }

  private Piece add(long bytes) {
    TestPiece piece = new TestPiece(Platform.allocateMemory(bytes), bytes);
    pieces.add(piece);
    mostLiveBytes = Math.max(mostLiveBytes, liveBytes());
    return piece;
  }

  @Override
  public synchronized void close() {
    for (TestPiece piece : pieces) {
      assertEquals(1, piece.frees, "frees of a piece of " + piece.bytes + " bytes");
      for (long i = 0; i < piece.bytes; i++) {
        assertEquals(POISON, Platform.getByte(null, piece.address + i), "written to after it was freed");
      }
      Platform.freeMemory(piece.address);
    }
  }

  private final class TestPiece implements Piece {
    private final long address;
    private final long bytes;
    private int frees;
    private boolean detached;

    TestPiece(long address, long bytes) {
      this.address = address;
      this.bytes = bytes;
    }

    @Override
    public long address() {
      return address;
    }

    @Override
    public long bytes() {
      return bytes;
    }

    @Override
    public void free() {
      synchronized (TestMemory.this) {
        frees++;
        Platform.setMemory(address, POISON, bytes);
      }
    }

    @Override
    public void detach() {
      synchronized (TestMemory.this) {
        detached = true;
      }
    }
  }
}
