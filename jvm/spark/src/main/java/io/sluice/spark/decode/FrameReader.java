package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockInputs;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.FetchFailures;
import java.io.EOFException;
import java.io.IOException;
import org.apache.spark.unsafe.Platform;

/**
 * Walks over the frames of all blocks: at each step one whole frame lies in memory, its header checked.
 *
 * <p>Every length of a header is checked against what remains of the block (where that is known) and against
 * the smallest rows it could describe, before any memory is taken for it. Not thread-safe.
 */
public final class FrameReader implements AutoCloseable {
  /** The format's limit. */
  private static final int MAX_RECORDS = 1 << 16;

  private final BlockInputs inputs;
  private final FrameBuffer window;
  private final byte[] headerBytes = new byte[FrameHeader.BYTES];
  private BlockInput input;
  private FrameHeader header;
  private long frameBytes;

  public FrameReader(BlockInputs inputs, ReadMemory memory) {
    this.inputs = inputs;
    this.window = new FrameBuffer(memory);
  }

  /**
   * Moves to the next frame, from block to block.
   *
   * @return false when all blocks have been read
   * @throws BlockReadException naming block and offset
   */
  boolean next() throws IOException {
    window.skip(frameBytes);
    frameBytes = 0;
    while (input != null || openNext()) {
      try {
        if (window.require(1)) {
          readFrame();
          return true;
        }
      } catch (IOException e) {
        throw failure(e);
      }
      closeInput();
    }
    return false;
  }

  /** Whether {@link #next} would answer without waiting for the network. */
  boolean nextIsAtHand() throws IOException {
    return input != null && frameFollows() || inputs.nextIsAtHand();
  }

  private boolean frameFollows() throws IOException {
    long consumed = frameBytes;
    if (input.sizeBytes() != BlockInput.UNKNOWN) {
      return window.offset() + consumed < input.sizeBytes();
    }
    try {
      return window.require(consumed + 1);
    } catch (IOException e) {
      throw failure(e);
    }
  }

  /** The header of the current frame. */
  FrameHeader header() {
    return header;
  }

  /** Where the current frame is, header included; until the next {@link #next} or {@link #nextIsAtHand}. */
  long frameAddress() {
    return window.address();
  }

  long frameBytes() {
    return frameBytes;
  }

  /** The block of the current frame. */
  BlockInput input() {
    return input;
  }

  /** Bytes from the block's start to the current frame. */
  long offset() {
    return window.offset();
  }

  /** What went wrong with the current frame, for {@link FetchFailures}. */
  BlockReadException failure(IOException cause) {
    return new BlockReadException(input.block(), window.offset(), cause, input.diagnose(cause));
  }

  private boolean openNext() throws IOException {
    input = inputs.next();
    if (input == null) {
      return false;
    }
    window.open(input);
    return true;
  }

  private void readFrame() throws IOException {
    require(FrameHeader.BYTES, "the header of a frame");
    Platform.copyMemory(null, window.address(), headerBytes, Platform.BYTE_ARRAY_OFFSET, FrameHeader.BYTES);
    FrameHeader parsed = FrameHeader.parse(headerBytes, 0);
    check(parsed);
    require(FrameHeader.BYTES + parsed.encodedBytes(), "a frame");
    header = parsed;
    frameBytes = FrameHeader.BYTES + parsed.encodedBytes();
  }

  private void require(long bytes, String what) throws IOException {
    if (!window.require(bytes)) {
      throw new EOFException("the block ends " + window.available() + " bytes into " + what + " of " + bytes
          + " bytes");
    }
  }

  private void check(FrameHeader parsed) throws CorruptFrameException {
    if (parsed.path() != FrameHeader.PATH_ROWS) {
      throw new CorruptFrameException("frame of record path " + parsed.path() + ", expected rows ("
          + FrameHeader.PATH_ROWS + "): written by another version of Sluice?");
    }
    long smallestRow = 8 * ((parsed.fields() + 63L) / 64 + parsed.fields());
    boolean plausible = parsed.records() > 0
        && parsed.records() <= MAX_RECORDS
        && parsed.fields() >= 0
        && parsed.decodedBytes() % 8 == 0
        && parsed.decodedBytes() >= smallestRow * parsed.records();
    if (!plausible) {
      throw new CorruptFrameException("impossible frame header: " + parsed);
    }
    long end = window.offset() + FrameHeader.BYTES + parsed.encodedBytes();
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
    frameBytes = 0;
    try (window; inputs) {
      if (input != null) {
        closeInput();
      }
    }
  }
}
