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
  private final ReusedMemory memory = new ReusedMemory();
  private long rowBytes;
  private int rows;
  private int fields;

  /** Bytes of memory that a frame's rows take. */
  static long bytesFor(FrameHeader header) {
    return header.decodedBytes() + (long) Integer.BYTES * header.records();
  }

  /** Makes room for a frame, waiting for memory if needed. */
  void prepare(FrameHeader header, ReadMemory source) {
    memory.ensure(bytesFor(header), source, "the rows of a shuffle frame");
  }

  /** As {@link #prepare}, but false when there is no memory at once; it then holds none. */
  boolean tryPrepare(FrameHeader header, ReadMemory source) {
    return memory.tryEnsure(bytesFor(header), source);
  }

  /** Decodes the frame that it was prepared for. */
  void decode(FrameDecoder decoder, FrameHeader header, long source, long sourceBytes)
      throws CorruptFrameException {
    long decoded = header.decodedBytes();
    long decodedRows = decoder.decode(
        source, sourceBytes, address(), decoded, address() + decoded, header.records());
    if (decodedRows != header.records()) {
      throw new CorruptFrameException("frame holds " + decodedRows + " rows, its header says " + header.records());
    }
    rowBytes = decoded;
    rows = header.records();
    fields = header.fields();
  }

  /** The first row. */
  long address() {
    return memory.address();
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

  /** Ends the life of the rows; memory of usual size is kept for the next frame. */
  void recycle() {
    memory.freeIfLarge();
  }

  /** Lets a thread that still decodes into this batch close it after the task's end. */
  void detach() {
    memory.detach();
  }

  @Override
  public void close() {
    memory.close();
  }
}
