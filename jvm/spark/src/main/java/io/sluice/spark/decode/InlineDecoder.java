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
  private final ReadCounts tally;
  private final DecodedBatch batch = new DecodedBatch();
  /** Whether {@link #frames} stands at a frame that was not decoded yet. */
  private boolean frameWaits;

  public InlineDecoder(FrameReader frames, FrameDecoder decoder, ReadMemory memory, ReadCounts tally) {
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
  public DecodedBatch next() throws IOException {
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
