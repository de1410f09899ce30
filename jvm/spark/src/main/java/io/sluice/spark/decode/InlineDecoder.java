package io.sluice.spark.decode;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.SluiceException;
import io.sluice.spark.metrics.ReadCounts;
import java.io.IOException;

/** Decodes each frame on the consuming thread when its first row is asked for: the rows are in the cache then. */
public final class InlineDecoder implements BatchSource {
  private final FrameReader frames;
  private final FrameDecoder decoder;
  private final ReadMemory memory;
  private final ReadCounts counts;
  private final DecodedBatch batch = new DecodedBatch();
  /** For frames that are larger than the reader's buffer. */
  private final ReusedMemory encoded = new ReusedMemory();
  /** Whether the current frame of {@link #frames} has not been decoded yet. */
  private boolean frameWaits;

  public InlineDecoder(FrameReader frames, FrameDecoder decoder, ReadMemory memory, ReadCounts counts) {
    this.frames = frames;
    this.decoder = decoder;
    this.memory = memory;
    this.counts = counts;
  }

  @Override
  public boolean hasNext() throws IOException {
    frameWaits = frameWaits || frames.next();
    return frameWaits;
  }

  @Override
  public DecodedBatch next() throws IOException {
    frameWaits = false;
    FrameHeader header = frames.header();
    batch.recycle();
    if (DecodedBatch.goesToHeap(frames) || frames.isPlainRow() && !frames.fitsBuffer() && !hasMemory(header)) {
      batch.readToHeap(frames);
      counts.decoded(header, 0, false);
      return batch;
    }
    long frame = read(header);
    long begun = counts.beginDecodingByTask();
    long start = System.nanoTime();
    try {
      batch.decode(decoder, header, frame, frames.keys());
    } catch (IOException e) {
      throw frames.failure(e);
    } catch (NativeException e) {
      throw new SluiceException("decoding a frame of block " + frames.input().block().id() + " at byte "
          + frames.offset() + " failed: " + e.getMessage(), e);
    }
    encoded.freeIfLarge();
    long nanos = System.nanoTime() - start;
    counts.endDecodingByTask(begun, nanos);
    counts.decoded(header, nanos, false);
    return batch;
  }

  /** Whether there is memory for the current frame and its rows at once; it is taken then. */
  private boolean hasMemory(FrameHeader header) {
    if (encoded.tryEnsure(frames.frameBytes(), memory) && batch.tryPrepare(header, memory)) {
      return true;
    }
    encoded.close();
    return false;
  }

  /** Takes memory for the current frame and its rows and reads the frame: where it is. */
  private long read(FrameHeader header) throws IOException {
    if (frames.fitsBuffer()) {
      batch.prepare(header, memory);
      return frames.readInPlace();
    }
    DecodeJob.failIfNeverGranted(frames, memory);
    encoded.ensure(frames.frameBytes(), memory, "a frame of a shuffle block");
    batch.prepare(header, memory);
    frames.readTo(encoded.address());
    return encoded.address();
  }

  @Override
  public void close() throws IOException {
    try (batch; encoded; frames) {
      counts.flush();
    }
  }
}
