package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;

/**
 * The decoded rows of one frame, in memory that is kept from frame to frame while it fits.
 *
 * <pre>
 *   address ├── rows, back to back, each a multiple of 8 bytes ──┤ ├── one int per row: its length ──┤
 * </pre>
 *
 * Used by one thread at a time.
 */
final class DecodedBatch implements AutoCloseable {
  private static final long GRANULE = 64 * 1024;
  private static final long KEEP_ALWAYS = 4 * 1024 * 1024;
  private static final long KEEP_FACTOR = 4;

  private ReadMemory.Piece piece;
  private long rowBytes;
  private int rows;
  private int fields;

  /** Bytes of memory that a frame's rows take. */
  static long bytesFor(FrameHeader header) {
    return header.decodedBytes() + (long) Integer.BYTES * header.records();
  }

  /** Makes room for a frame, waiting for memory if needed. */
  void prepare(FrameHeader header, ReadMemory memory) {
    if (!fits(header)) {
      close();
      piece = memory.take(roundUp(bytesFor(header)), "the rows of a shuffle frame");
    }
  }

  /** As {@link #prepare}, but false when there is no memory at once; it then holds none. */
  boolean tryPrepare(FrameHeader header, ReadMemory memory) {
    if (!fits(header)) {
      close();
      piece = memory.tryTake(roundUp(bytesFor(header)));
    }
    return piece != null;
  }

  /** Decodes the frame that it was prepared for. */
  void decode(FrameDecoder decoder, FrameHeader header, long source, long sourceBytes)
      throws CorruptFrameException {
    long decoded = header.decodedBytes();
    long decodedRows = decoder.decode(source, sourceBytes, piece.address(), decoded, piece.address() + decoded);
    if (decodedRows != header.records()) {
      throw new CorruptFrameException("frame holds " + decodedRows + " rows, its header says " + header.records());
    }
    rowBytes = decoded;
    rows = header.records();
    fields = header.fields();
  }

  /** The first row. */
  long address() {
    return piece.address();
  }

  /** Bytes of all rows; the row lengths follow them. */
  long rowBytes() {
    return rowBytes;
  }

  int rows() {
    return rows;
  }

  int fields() {
    return fields;
  }

  /** Lets a thread that still decodes into this batch close it after the task's end. */
  void detach() {
    if (piece != null) {
      piece.detach();
    }
  }

  private boolean fits(FrameHeader header) {
    long wanted = bytesFor(header);
    return piece != null && piece.bytes() >= wanted
        && (piece.bytes() <= KEEP_ALWAYS || piece.bytes() <= KEEP_FACTOR * wanted);
  }

  private static long roundUp(long bytes) {
    return Math.max(1, (bytes + GRANULE - 1) / GRANULE) * GRANULE;
  }

  @Override
  public void close() {
    if (piece != null) {
      ReadMemory.Piece freed = piece;
      piece = null;
      freed.free();
    }
  }
}
