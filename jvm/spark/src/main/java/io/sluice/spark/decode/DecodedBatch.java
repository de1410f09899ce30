package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import java.io.IOException;
import org.apache.spark.unsafe.Platform;

/**
 * The decoded rows of one frame, in memory that is kept from frame to frame while it fits. A frame that is one long row
 * as it is ({@link #goesToHeap}) is in an array on the heap instead, as the rows of Spark's own readers are: the writer
 * may have had no memory outside the heap for it, and so the reader needs none.
 *
 * <pre>
 *   offset ├── rows, back to back, each a multiple of 8 bytes ──┤ ├── one int per row: its length ──┤
 * </pre>
 *
 * Used by one thread at a time.
 */
final class DecodedBatch implements AutoCloseable {
  private final ReusedMemory memory = new ReusedMemory();
  /** Null when the rows are in {@link #memory}. */
  private byte[] heap;
  private long rowBytes;
  private int rows;
  private int fields;

  /** Whether the rows of the current frame belong on the heap. */
  static boolean goesToHeap(FrameReader frames) {
    return frames.header().isPlain() && frames.header().records() == 1 && !frames.fitsBuffer();
  }

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
        source, sourceBytes, memory.address(), decoded, memory.address() + decoded, header.records());
    if (decodedRows != header.records()) {
      throw new CorruptFrameException("frame holds " + decodedRows + " rows, its header says " + header.records());
    }
    rowBytes = decoded;
    rows = header.records();
    fields = header.fields();
  }

  /** Reads the current frame, which {@link #goesToHeap}. */
  void readToHeap(FrameReader frames) throws IOException {
    FrameHeader header = frames.header();
    rowBytes = header.decodedBytes();
    rows = 1;
    fields = header.fields();
    heap = frames.readRow(Integer.BYTES);
    Platform.putInt(heap, Platform.BYTE_ARRAY_OFFSET + rowBytes, (int) rowBytes);
  }

  /** The array that holds the rows; null when {@link #offset} is an address. */
  byte[] base() {
    return heap;
  }

  /** Where the first row is. */
  long offset() {
    return heap == null ? memory.address() : Platform.BYTE_ARRAY_OFFSET;
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
    heap = null;
    memory.freeIfLarge();
  }

  /** Lets a thread that still decodes into this batch close it after the task's end. */
  void detach() {
    memory.detach();
  }

  @Override
  public void close() {
    heap = null;
    memory.close();
  }
}
