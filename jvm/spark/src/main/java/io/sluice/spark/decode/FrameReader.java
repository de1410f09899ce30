package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockInputs;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.FetchFailures;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;

/**
 * Walks over the frames of all blocks: at each step the header of a frame is known and checked, and its bytes can be
 * read, once, to where they are decoded.
 *
 * <p>Every length of a header is checked against what remains of the block (where that is known) and against
 * the smallest rows it could describe, before any memory is taken for it. Not thread-safe.
 */
public final class FrameReader implements AutoCloseable {
  /** The format's limits. */
  private static final int MAX_RECORDS = 1 << 16;
  private static final int MAX_FIELDS = 1 << 20;
  /** The longest row that an array can hold. */
  private static final long MAX_ROW_BYTES = ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH;

  private final BlockInputs inputs;
  private final BlockBuffer buffer;
  private final byte[] headerBytes = new byte[FrameHeader.BYTES];
  private BlockInput input;
  private FrameHeader header;
  private long frameOffset;
  /** Bytes of the current frame that lie in the buffer and are not consumed yet. */
  private int inPlaceBytes;

  public FrameReader(BlockInputs inputs, ReadMemory memory) {
    this.inputs = inputs;
    this.buffer = new BlockBuffer(memory);
  }

  /**
   * Moves to the next frame, from block to block, after the current one has been read.
   *
   * @return false when all blocks have been read
   * @throws BlockReadException naming block and offset
   */
  boolean next() throws IOException {
    endFrame();
    while (input != null || openNext()) {
      frameOffset = buffer.offset();
      try {
        if (buffer.require(1)) {
          readHeader();
          return true;
        }
      } catch (IOException e) {
        throw failure(e);
      }
      closeInput();
    }
    return false;
  }

  /**
   * Whether {@link #next} would answer without waiting for the network; ends the current frame, which has been read.
   */
  boolean nextHasArrived() throws IOException {
    endFrame();
    return input != null && frameFollows() || inputs.nextHasArrived();
  }

  private void endFrame() {
    buffer.skip(inPlaceBytes);
    inPlaceBytes = 0;
  }

  private boolean frameFollows() throws IOException {
    if (input.sizeBytes() != BlockInput.UNKNOWN) {
      return buffer.offset() < input.sizeBytes();
    }
    try {
      return buffer.require(1);
    } catch (IOException e) {
      throw failure(e);
    }
  }

  /** The header of the current frame. */
  FrameHeader header() {
    return header;
  }

  /** Bytes of the current frame, header included. */
  long frameBytes() {
    return FrameHeader.BYTES + header.encodedBytes();
  }

  /** Whether the current frame is so small that it can be decoded in the buffer. */
  boolean fitsBuffer() {
    return frameBytes() <= BlockBuffer.BYTES;
  }

  /** Reads the current frame, which {@link #fitsBuffer}; it is at the result, header included, until the next frame. */
  long readInPlace() throws IOException {
    try {
      inPlaceBytes = (int) frameBytes();
      require(inPlaceBytes, "a frame");
      return buffer.address();
    } catch (IOException e) {
      throw failure(e);
    }
  }

  /** Reads the current frame, header included, to {@code target}, which has room for {@link #frameBytes}. */
  void readTo(long target) throws IOException {
    try {
      long read = buffer.consumeTo(target, frameBytes());
      if (read < frameBytes()) {
        throw endsInside(read, "a frame", frameBytes());
      }
    } catch (IOException e) {
      throw failure(e);
    }
  }

  /** Whether the current frame is one row as it is, which {@link #readRow} can read. */
  boolean isPlainRow() {
    return header.isPlain() && header.records() == 1 && header.encodedBytes() == Integer.BYTES + header.decodedBytes()
        && header.decodedBytes() <= MAX_ROW_BYTES;
  }

  /** Reads the row of the current frame, which {@link #isPlainRow}, to the start of {@code row}. */
  void readRow(byte[] row) throws IOException {
    try {
      long length = header.decodedBytes();
      buffer.skip(FrameHeader.BYTES);
      byte[] lengthBytes = new byte[Integer.BYTES];
      readFully(lengthBytes, Integer.BYTES);
      readFully(row, (int) length);
      CRC32C checksum = new CRC32C();
      checksum.update(lengthBytes, 0, Integer.BYTES);
      checksum.update(row, 0, (int) length);
      if ((int) checksum.getValue() != header.payloadCrc()) {
        throw new CorruptFrameException("frame payload checksum is 0x" + Integer.toHexString(header.payloadCrc())
            + ", its bytes give 0x" + Long.toHexString(checksum.getValue()));
      }
      int found = ByteBuffer.wrap(lengthBytes).order(ByteOrder.LITTLE_ENDIAN).getInt();
      if (found != length) {
        throw new CorruptFrameException("frame of a row of " + found + " bytes, its header says " + length);
      }
    } catch (IOException e) {
      throw failure(e);
    }
  }

  private void readFully(byte[] target, int bytes) throws IOException {
    int read = buffer.consumeTo(target, bytes);
    if (read < bytes) {
      throw endsInside(buffer.offset() - frameOffset, "a frame", frameBytes());
    }
  }

  /** The block of the current frame. */
  BlockInput input() {
    return input;
  }

  /** Bytes from the block's start to the current frame. */
  long offset() {
    return frameOffset;
  }

  /** The error of the current frame, for {@link FetchFailures}. */
  BlockReadException failure(IOException cause) {
    return new BlockReadException(input.block(), frameOffset, cause, input.diagnose(cause));
  }

  private boolean openNext() throws IOException {
    input = inputs.next();
    if (input == null) {
      return false;
    }
    buffer.open(input);
    return true;
  }

  private void readHeader() throws IOException {
    require(FrameHeader.BYTES, "the header of a frame");
    Platform.copyMemory(null, buffer.address(), headerBytes, Platform.BYTE_ARRAY_OFFSET, FrameHeader.BYTES);
    FrameHeader parsed = FrameHeader.parse(headerBytes, 0);
    check(parsed);
    header = parsed;
  }

  private void require(int bytes, String what) throws IOException {
    if (!buffer.require(bytes)) {
      throw endsInside(buffer.available(), what, bytes);
    }
  }

  private static EOFException endsInside(long bytes, String what, long whole) {
    return new EOFException("the block ends " + bytes + " bytes into " + what + " of " + whole + " bytes");
  }

  private void check(FrameHeader parsed) throws CorruptFrameException {
    if (parsed.path() != FrameHeader.PATH_ROWS) {
      throw new CorruptFrameException("frame of record path " + parsed.path() + ", expected rows ("
          + FrameHeader.PATH_ROWS + "): written by another version of Sluice?");
    }
    long smallestRow = 8 * ((parsed.fields() + 63L) / 64 + parsed.fields());
    boolean plausible = headerBytes[FrameHeader.FLAGS_OFFSET] == 0
        && headerBytes[FrameHeader.FLAGS_OFFSET + 1] == 0
        && parsed.records() > 0
        && parsed.records() <= MAX_RECORDS
        && parsed.fields() >= 0
        && parsed.fields() <= MAX_FIELDS
        && parsed.decodedBytes() % 8 == 0
        && parsed.decodedBytes() >= smallestRow * parsed.records();
    if (!plausible) {
      throw new CorruptFrameException("impossible frame header: " + parsed);
    }
    long end = frameOffset + FrameHeader.BYTES + parsed.encodedBytes();
    if (input.sizeBytes() != BlockInput.UNKNOWN && end > input.sizeBytes()) {
      throw new CorruptFrameException("frame of " + parsed.encodedBytes() + " bytes ends at byte " + end
          + " of a block of " + input.sizeBytes() + " bytes");
    }
  }

  private void closeInput() throws IOException {
    BlockInput closed = input;
    input = null;
    closed.close();
  }

  @Override
  public void close() throws IOException {
    inPlaceBytes = 0;
    try (buffer; inputs) {
      if (input != null) {
        closeInput();
      }
    }
  }
}
