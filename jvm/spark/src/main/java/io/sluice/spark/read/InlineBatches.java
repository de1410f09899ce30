package io.sluice.spark.read;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.SluiceException;
import java.io.IOException;

/** Decodes each frame on the consuming thread when its first row is asked for: the rows are in the cache then. */
final class InlineBatches implements RowBatches {
  private final FrameReader frames;
  private final FrameDecoder decoder;
  private final ReadMemory memory;
  private final ReadTally tally;
  private final RowBatch batch = new RowBatch();
  /** Whether {@link #frames} stands at a frame that was not decoded yet. */
  private boolean frameWaits;

  InlineBatches(FrameReader frames, FrameDecoder decoder, ReadMemory memory, ReadTally tally) {
    this.frames = frames;
    this.decoder = decoder;
    this.memory = memory;
    this.tally = tally;
  }

  @Override
  public boolean hasNext() throws IOException {
    frameWaits = frameWaits || frames.next();
    return frameWaits;
  }

  @Override
  public RowBatch next() throws IOException {
    frameWaits = false;
    FrameHeader header = frames.header();
    batch.prepare(header, memory);
    long start = System.nanoTime();
    try {
      batch.decode(decoder, header, frames.frameAddress(), frames.frameBytes());
    } catch (IOException e) {
      throw frames.failure(e);
    } catch (NativeException e) {
      throw new SluiceException("decoding a frame of block " + frames.input().block().id() + " at byte "
          + frames.offset() + " failed: " + e.getMessage(), e);
    }
    tally.decoded(header, System.nanoTime() - start, false);
    return batch;
  }

  @Override
  public void close() throws IOException {
    try (batch; frames) {
      tally.flush();
    }
  }
}
