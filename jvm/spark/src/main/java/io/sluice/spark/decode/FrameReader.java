package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.FrameNotAuthenticException;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockInputs;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.FetchFailures;
import io.sluice.spark.fetch.SealedBlocks;
import io.sluice.spark.seal.OutputKeys;
import io.sluice.spark.seal.SealedBlock;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.apache.spark.unsafe.Platform;

/**
 * Walks over the frames of all blocks: at each step the header of a frame is known and checked, and its bytes can be
 * read, once, to where they are decoded.
 *
 * <p>Every length of a header is checked against what remains of the block (where that is known) and against
 * the smallest rows it could describe, before any memory is taken for it. In sealed blocks it checks which frames
 * follow each other, up to the partition's end mark before its first frame is given out, and passes over end marks. Not
 * thread-safe.
 */
public final class FrameReader implements AutoCloseable {
  /** The format's limits. */
  private static final int MAX_RECORDS = 1 << 16;
  private static final int MAX_FIELDS = 1 << 20;
  /** The longest array of every JVM. */
  private static final long MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  private final BlockInputs inputs;
  private final BlockBuffer buffer;
  /** Null when frames are not sealed. */
  private final SealedBlocks sealedBlocks;
  private final byte[] headerBytes = new byte[FrameHeader.BYTES];
  private BlockInput input;
  private FrameHeader header;
  /** Of the open block; null when frames are not sealed. */
  private SealedBlock sealed;
  private long frameOffset;
  /** Bytes of the current frame that lie in the buffer and are not consumed yet. */
  private int inPlaceBytes;

  /** A reader of frames that are not sealed. */
  public FrameReader(BlockInputs inputs, ReadMemory memory) {
    this(inputs, memory, null);
  }

  /** @param sealedBlocks opens sealed blocks; null when frames are not sealed */
  public FrameReader(BlockInputs inputs, ReadMemory memory, SealedBlocks sealedBlocks) {
    this.inputs = inputs;
    this.sealedBlocks = sealedBlocks;
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
        if (blockGoesOn()) {
          readHeader();
          return true;
        }
        if (sealed != null) {
          sealed.end();
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
    if (sealed == null && input.sizeBytes() != BlockInput.UNKNOWN) {
      return buffer.offset() < input.sizeBytes();
    }
    try {
      return blockGoesOn();
    } catch (IOException e) {
      throw failure(e);
    }
  }

  /** Whether a frame follows in the block; passes over end marks. */
  private boolean blockGoesOn() throws IOException {
    boolean more = buffer.require(1);
    while (more && sealed != null && parseHeader().isEndMark()) {
      frameOffset = buffer.offset();
      readEndMark(parseHeader());
      more = buffer.require(1);
    }
    frameOffset = buffer.offset();
    return more;
  }

  private void readEndMark(FrameHeader mark) throws IOException {
    byte[] payload = new byte[FrameHeader.END_MARK_PAYLOAD_BYTES];
    require(FrameHeader.BYTES + payload.length, "an end mark");
    buffer.skip(FrameHeader.BYTES);
    readFully(payload, payload.length);
    checkCrc(mark, payload, payload.length);
    sealed.endMark(mark, payload);
  }

  /** The keys of the current frame's map output; null when it is not sealed. */
  OutputKeys keys() {
    return sealed == null ? null : sealed.keys();
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
      noteSeal(buffer.address());
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
      noteSeal(target);
    } catch (IOException e) {
      throw failure(e);
    }
  }

  /** Whether the current frame is one row as it is, which {@link #readRow} can read. */
  boolean isPlainRow() {
    return header.isPlain() && header.records() == 1 && header.plainBytes() == Integer.BYTES + header.decodedBytes()
        && rowArrayBytes() <= MAX_ARRAY_BYTES;
  }

  /**
   * Bytes of the array for {@link #readRow}, which are those of the payload: the row and its length, and in a sealed
   * frame the seal.
   */
  long rowArrayBytes() {
    return header.encodedBytes();
  }

  /**
   * Reads the row of the current frame, which {@link #isPlainRow}, to the start of {@code row}, which has room for
   * {@link #rowArrayBytes}.
   */
  void readRow(byte[] row) throws IOException {
    try {
      buffer.skip(FrameHeader.BYTES);
      if (sealed == null) {
        readPlainRow(row);
      } else {
        readSealedRow(row);
      }
    } catch (IOException e) {
      throw failure(e);
    }
  }

  private void readPlainRow(byte[] row) throws IOException {
    int length = (int) header.decodedBytes();
    byte[] lengthBytes = new byte[Integer.BYTES];
    readFully(lengthBytes, Integer.BYTES);
    readFully(row, length);
    CRC32C checksum = new CRC32C();
    checksum.update(lengthBytes, 0, Integer.BYTES);
    checksum.update(row, 0, length);
    checkCrc(header, checksum);
    checkRowLength(lengthBytes, length);
  }

  /** Opens the payload in {@code row}, then moves the row over its length to the start. */
  private void readSealedRow(byte[] row) throws IOException {
    int length = (int) header.decodedBytes();
    int payloadBytes = (int) header.encodedBytes();
    readFully(row, payloadBytes);
    checkCrc(header, row, payloadBytes);
    sealed.frame(Arrays.copyOfRange(row, payloadBytes - FrameHeader.SEAL_BYTES, payloadBytes));
    sealed.keys().open(header, row, 0);
    checkRowLength(row, length);
    System.arraycopy(row, Integer.BYTES, row, 0, length);
  }

  private static void checkRowLength(byte[] lengthBytes, int length) throws CorruptFrameException {
    int found = ByteBuffer.wrap(lengthBytes).order(ByteOrder.LITTLE_ENDIAN).getInt();
    if (found != length) {
      throw new CorruptFrameException("frame of a row of " + found + " bytes, its header says " + length);
    }
  }

  private static void checkCrc(FrameHeader header, byte[] payload, int bytes) throws CorruptFrameException {
    CRC32C checksum = new CRC32C();
    checksum.update(payload, 0, bytes);
    checkCrc(header, checksum);
  }

  private static void checkCrc(FrameHeader header, CRC32C checksum) throws CorruptFrameException {
    if ((int) checksum.getValue() != header.payloadCrc()) {
      throw new CorruptFrameException("frame payload checksum is 0x" + Integer.toHexString(header.payloadCrc())
          + ", its bytes give 0x" + Long.toHexString(checksum.getValue()));
    }
  }

  /** Checks that the frame that was read to {@code address} is one that may come here. */
  private void noteSeal(long address) throws IOException {
    if (sealed != null) {
      byte[] seal = new byte[FrameHeader.SEAL_BYTES];
      Platform.copyMemory(null, address + frameBytes() - seal.length, seal, Platform.BYTE_ARRAY_OFFSET, seal.length);
      sealed.frame(seal);
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
    if (sealedBlocks != null) {
      try {
        sealed = sealedBlocks.open(input);
      } catch (IOException e) {
        throw failure(e);
      }
    }
    return true;
  }

  private void readHeader() throws IOException {
    FrameHeader parsed = parseHeader();
    check(parsed);
    header = parsed;
  }

  private FrameHeader parseHeader() throws IOException {
    require(FrameHeader.BYTES, "the header of a frame");
    Platform.copyMemory(null, buffer.address(), headerBytes, Platform.BYTE_ARRAY_OFFSET, FrameHeader.BYTES);
    return FrameHeader.parse(headerBytes, 0);
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
    checkSealed(parsed);
    long smallestRow = 8 * ((parsed.fields() + 63L) / 64 + parsed.fields());
    boolean plausible = headerBytes[FrameHeader.FLAGS_OFFSET + 1] == 0
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

  private void checkSealed(FrameHeader parsed) throws CorruptFrameException {
    if (sealed != null && !parsed.isSealed()) {
      throw new FrameNotAuthenticException("a frame that is not sealed, though spark.io.encryption.enabled is true");
    }
    if (sealed == null && parsed.flags() != 0) {
      throw new CorruptFrameException("unknown frame flags " + parsed.flags()
          + ": written with spark.io.encryption.enabled, or by another version of Sluice?");
    }
  }

  private void closeInput() throws IOException {
    BlockInput closed = input;
    SealedBlock seals = sealed;
    input = null;
    sealed = null;
    try (closed; seals) {
      // Both, whatever fails.
    }
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
