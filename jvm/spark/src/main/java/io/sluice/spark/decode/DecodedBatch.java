package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.seal.OutputKeys;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.spark.unsafe.Platform;

/**
 * The decoded rows of one frame, or of several small ones, in memory that is kept from batch to batch while it fits. A
 * frame that is one long row as it is may go to an array on the heap instead, as the rows of Spark's own readers do:
 * its writer may have had no memory outside the heap for it, and so the reader needs none.
 *
 * <pre>
 *   offset ├── rows, back to back, each a multiple of 8 bytes ──┤ ├── one int per row: its length ──┤
 * </pre>
 *
 * Used by one thread at a time.
 */
final class DecodedBatch implements AutoCloseable {
  private final ReusedMemory memory = new ReusedMemory();
  /** Kept from one long row to a next one that follows it and is not much shorter; else null. */
  private byte[] array;
  private boolean onHeap;
  private long rowBytes;
  private int rows;
  private int fields;

  /** Whether the current frame is too long to ask for memory outside the heap. */
  static boolean goesToHeap(FrameReader frames) {
    return frames.isPlainRow() && frames.header().decodedBytes() > ReusedMemory.LARGE_BYTES;
  }

  /** Bytes of memory that a frame's rows take. */
  static long bytesFor(FrameHeader header) {
    return header.decodedBytes() + (long) Integer.BYTES * header.records();
  }

  /** Makes room for a frame, waiting for memory if needed. */
  void prepare(FrameHeader header, ReadMemory source) {
    array = null;
    memory.ensure(bytesFor(header), source, "the rows of a shuffle frame");
  }

  /** As {@link #prepare}, but false when there is no memory at once; it then holds none. */
  boolean tryPrepare(FrameHeader header, ReadMemory source) {
    array = null;
    return memory.tryEnsure(bytesFor(header), source);
  }

  /** Whether there is room for so many rows in all. */
  boolean hasRoom(long bytes, long records) {
    return bytes + Integer.BYTES * records <= memory.bytes();
  }

  /** Decodes the frame that it was prepared for. */
  void decode(FrameDecoder decoder, FrameHeader header, long source, OutputKeys keys) throws CorruptFrameException {
    start(header);
    append(decoder, header, source, keys, header.decodedBytes());
  }

  /** The batch is empty then; {@link #append} fills it with frames of as many fields as {@code first}. */
  void start(FrameHeader first) {
    rowBytes = 0;
    rows = 0;
    fields = first.fields();
  }

  /**
   * Decodes a frame to where the rows of those before it end.
   *
   * @param keys with which the frame is opened; null when it is not sealed
   * @param allRowBytes bytes of the rows of all frames of the batch, for which there {@link #hasRoom}; their lengths
   *     are written behind that
   */
  void append(FrameDecoder decoder, FrameHeader header, long source, OutputKeys keys, long allRowBytes)
      throws CorruptFrameException {
    long lengths = memory.address() + allRowBytes + (long) Integer.BYTES * rows;
    long sourceBytes = FrameHeader.BYTES + header.encodedBytes();
    long decodedRows = decoder.decode(
        source, sourceBytes, memory.address() + rowBytes, header.decodedBytes(), lengths, header.records(), keys);
    if (decodedRows != header.records()) {
      throw new CorruptFrameException("frame holds " + decodedRows + " rows, its header says " + header.records());
    }
    rowBytes += header.decodedBytes();
    rows += header.records();
  }

  /** The batch ends with the frames that were appended: the lengths move behind their rows. */
  void endEarly(long allRowBytes) {
    long start = memory.address();
    Platform.copyMemory(null, start + allRowBytes, null, start + rowBytes, (long) Integer.BYTES * rows);
  }

  /** Reads the current frame, which is a plain row, to the heap; the row's length is written behind it. */
  void readToHeap(FrameReader frames) throws IOException {
    rowBytes = frames.header().decodedBytes();
    rows = 1;
    fields = frames.header().fields();
    onHeap = true;
    long bytes = frames.rowArrayBytes();
    if (array == null || array.length < bytes || array.length / 2 > bytes) {
      array = new byte[(int) bytes];
    }
    frames.readRow(array);
    // Not by Platform, which would write behind an array that is too short.
    ByteBuffer.wrap(array).order(ByteOrder.nativeOrder()).putInt((int) rowBytes, (int) rowBytes);
  }

  /** The array that holds the rows; null when {@link #offset} is an address. */
  byte[] base() {
    return onHeap ? array : null;
  }

  /** Where the first row is. */
  long offset() {
    return onHeap ? Platform.BYTE_ARRAY_OFFSET : memory.address();
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
    onHeap = false;
    memory.freeIfLarge();
  }

  /** Lets a thread that still decodes into this batch close it after the task's end. */
  void detach() {
    memory.detach();
  }

  @Override
  public void close() {
    array = null;
    memory.close();
  }
}
