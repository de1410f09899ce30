package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameNotAuthenticException;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.SluiceException;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.seal.OutputKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Reads several frames that follow each other to where they lie behind each other, so that they are decoded to one
 * batch of columns; where asked for, frames of one row stay alone. Sealed frames are opened there. Not
 * thread-safe.
 */
public final class FrameGroup implements AutoCloseable {
  /** A batch ends before a frame with which it would have more rows; Comet's own batches have as many. */
  private static final int MOST_ROWS = 8192;
  private static final long USUAL_BYTES = 1 << 20;
  /** Of rows: a batch ends before a frame with which it would have more. */
  private static final long MOST_DECODED_BYTES = 32 << 20;

  /** Decodes frames. */
  public interface Decoder {
    /** The rows, or a negative reason of {@link NativeCore}. */
    long decode(long source, long sourceBytes);
  }

  private record Part(BlockInput input, long offset, long bytes) {}

  private final FrameReader frames;
  private final ReadMemory memory;
  private final ReadCounts counts;
  private final boolean singleRowsAlone;
  private final ReusedMemory encoded = new ReusedMemory();
  private final DecodedBatch longRow = new DecodedBatch();
  private final List<Part> parts = new ArrayList<>();
  private long bytes;
  private long decodedBytes;
  private long rows;
  /** Whether the current frame of {@link #frames} has not been read yet. */
  private boolean frameWaits;

  /** @param singleRowsAlone whether a frame of one row is a batch of its own */
  public FrameGroup(FrameReader frames, ReadMemory memory, ReadCounts counts, boolean singleRowsAlone) {
    this.frames = frames;
    this.memory = memory;
    this.counts = counts;
    this.singleRowsAlone = singleRowsAlone;
  }

  /** Whether there is another frame, which is not read yet; the frames that were read stay as they are. */
  public boolean hasNext() throws IOException {
    frameWaits = frameWaits || frames.next();
    return frameWaits;
  }

  /**
   * The next frame's row, on the heap, if the frame is one row as it is that is too long to ask for memory outside the
   * heap, or for which there is none at once; else null, and nothing is read. Valid until the next call. The frames
   * that were read before are not decoded any more.
   */
  public UnsafeRow nextLongRow() throws IOException {
    if (!hasNext() || !DecodedBatch.goesToHeap(frames) && !(frames.isPlainRow() && !hasMemory())) {
      return null;
    }
    frameWaits = false;
    encoded.freeIfLarge();
    longRow.readToHeap(frames);
    counts.decoded(frames.header(), 0, false);
    UnsafeRow row = new UnsafeRow(longRow.fields());
    row.pointTo(longRow.base(), longRow.offset(), (int) longRow.rowBytes());
    return row;
  }

  private boolean hasMemory() {
    return encoded.tryEnsure(Math.max(USUAL_BYTES, frames.frameBytes()), memory);
  }

  /**
   * Reads the next frames; false at the end.
   *
   * @throws BlockReadException when a block cannot be read
   */
  public boolean next() throws IOException {
    parts.clear();
    bytes = 0;
    decodedBytes = 0;
    rows = 0;
    encoded.freeIfLarge();
    longRow.close();
    if (!hasNext()) {
      return false;
    }
    encoded.ensure(Math.max(USUAL_BYTES, frames.frameBytes()), memory, "frames of shuffle blocks");
    do {
      read();
      frameWaits = frames.next();
    } while (frameWaits && !(singleRowsAlone && (rows == 1 || frames.header().records() == 1))
        && rows + frames.header().records() <= MOST_ROWS
        && decodedBytes + frames.header().decodedBytes() <= MOST_DECODED_BYTES
        && bytes + frames.frameBytes() <= encoded.bytes());
    return true;
  }

  /** Of the rows of the frames that were read. */
  public long decodedBytes() {
    return decodedBytes;
  }

  private void read() throws IOException {
    long address = encoded.address() + bytes;
    frames.readTo(address);
    OutputKeys keys = frames.keys();
    Part part = new Part(frames.input(), frames.offset(), keys == null ? frames.frameBytes() : unseal(address, keys));
    counts.decoded(frames.header(), 0, false);
    parts.add(part);
    bytes += part.bytes();
    decodedBytes += frames.header().decodedBytes();
    rows += frames.header().records();
  }

  /** Puts the frame that was sealed in the place of the one that was read; how many bytes it has. */
  private long unseal(long address, OutputKeys keys) throws BlockReadException {
    long begun = counts.beginDecodingByTask();
    long start = System.nanoTime();
    long found = NativeCore.unsealFrame(
        address, frames.frameBytes(), keys.shuffleId(), keys.mapId(), keys.frameKey());
    long nanos = System.nanoTime() - start;
    counts.endDecodingByTask(begun, nanos);
    counts.decodedFor(nanos);
    if (found == NativeCore.NOT_AUTHENTIC) {
      throw frames.failure(new FrameNotAuthenticException(NativeCore.lastErrorMessage()));
    }
    if (found == NativeCore.CORRUPT) {
      throw frames.failure(new CorruptFrameException(NativeCore.lastErrorMessage()));
    }
    return NativeException.check(found);
  }

  /**
   * Decodes the frames.
   *
   * @return how many rows there are
   * @throws BlockReadException naming the frame that is corrupt
   */
  public long decode(Decoder decoder) throws IOException {
    long begun = counts.beginDecodingByTask();
    long start = System.nanoTime();
    long found = decoder.decode(encoded.address(), bytes);
    long nanos = System.nanoTime() - start;
    counts.endDecodingByTask(begun, nanos);
    counts.decodedFor(nanos);
    if (found == NativeCore.CORRUPT) {
      String message = NativeCore.lastErrorMessage();
      throw failure(firstCorrupt(decoder), message);
    }
    if (found < 0) {
      Part first = parts.get(0);
      throw new SluiceException("decoding " + parts.size() + " frames from block " + first.input().block().id()
          + " at byte " + first.offset() + " on failed: " + NativeCore.lastErrorMessage());
    }
    return found;
  }

  private Part firstCorrupt(Decoder decoder) {
    long at = encoded.address();
    for (Part part : parts) {
      if (decoder.decode(at, part.bytes()) == NativeCore.CORRUPT) {
        return part;
      }
      at += part.bytes();
    }
    // Each alone is right: they have different columns.
    return parts.get(parts.size() - 1);
  }

  private static BlockReadException failure(Part part, String message) {
    CorruptFrameException corrupt = new CorruptFrameException(message);
    return new BlockReadException(part.input().block(), part.offset(), corrupt, part.input().diagnose(corrupt));
  }

  @Override
  public void close() throws IOException {
    try (encoded; longRow; frames) {
      counts.flush();
    }
  }
}
