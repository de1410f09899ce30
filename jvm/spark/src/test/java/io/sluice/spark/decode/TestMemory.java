package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.Platform;

/**
 * Memory that makes misuse visible: what is freed is filled with a pattern and kept mapped until {@link #close},
 * which also fails when something was not freed, was freed twice, or was written to after it was freed.
 */
public final class TestMemory implements ReadMemory, AutoCloseable {
  private static final byte POISON = (byte) 0xDB;

  private final List<TestPiece> pieces = new ArrayList<>();
  private boolean refuses;
  private int waits;

  /** Makes {@link #tryTake} refuse from now on. */
  synchronized void refuse(boolean refuses) {
    this.refuses = refuses;
  }

  /** How often somebody was ready to wait for memory. */
  synchronized int waits() {
    return waits;
  }

  synchronized long live() {
    return pieces.stream().filter(piece -> piece.frees == 0).count();
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

  private Piece add(long bytes) {
    TestPiece piece = new TestPiece(Platform.allocateMemory(bytes), bytes);
    pieces.add(piece);
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
      // The test's account is the same before and after the task's end.
    }
  }
}
