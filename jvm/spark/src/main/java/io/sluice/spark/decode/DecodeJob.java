package io.sluice.spark.decode;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.SluiceException;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.metrics.ReadCounts;
import java.io.IOException;
import org.apache.spark.TaskContext;

/**
 * One frame on its way to rows: its bytes, and the batch that they become. A pool thread or the task's thread decodes
 * it, whichever takes it first. The object is reused for later frames.
 *
 * <pre>
 *   EMPTY ─load─► READY ─(one thread)─► RUNNING ─► DONE ─recycle─► EMPTY        any ─close─► CLOSED
 *         ──(a plain row read to the heap)───────────▲
 * </pre>
 *
 * All methods but {@link #runOnPool} belong to the consuming thread. A job that is closed while a pool thread
 * decodes it is left to that thread, which frees its memory when it is done.
 */
final class DecodeJob {
  private static final long WAIT_MILLIS = 100;

  private enum State { EMPTY, READY, RUNNING, DONE, CLOSED }

  private final FrameDecoder decoder;
  private final DecodedBatch batch = new DecodedBatch();
  private final ReusedMemory encoded = new ReusedMemory();
  private FrameHeader header;
  private BlockInput input;
  private long offset;
  private long permitBytes;
  private boolean submitted;

  // Guarded by this; the decoding thread's writes are visible to others after the change to DONE.
  private State state = State.EMPTY;
  private boolean byPool;
  private long nanos;
  private Throwable failure;

  DecodeJob(FrameDecoder decoder) {
    this.decoder = decoder;
  }

  /** Bytes that a frame needs while it is in flight. */
  static long bytesFor(FrameReader frames) {
    return frames.frameBytes() + DecodedBatch.bytesFor(frames.header());
  }

  /** Fails without waiting if the current frame needs more memory than the task can ever get. */
  static void failIfNeverGranted(FrameReader frames, ReadMemory memory) {
    memory.failIfNeverGranted(ReusedMemory.roundUp(frames.frameBytes())
        + ReusedMemory.roundUp(DecodedBatch.bytesFor(frames.header())), "decoding a frame of a shuffle block");
  }

  /** Reads the current frame; false when there is no memory for it at once, or it is better read by {@link #load}. */
  boolean tryLoad(FrameReader frames, ReadMemory memory) throws IOException {
    if (DecodedBatch.goesToHeap(frames) || !encoded.tryEnsure(frames.frameBytes(), memory)
        || !batch.tryPrepare(frames.header(), memory)) {
      return false;
    }
    read(frames);
    return true;
  }

  /** Reads the current frame: a plain row, for which there was no memory, to the heap; else waits if it must. */
  void load(FrameReader frames, ReadMemory memory) throws IOException {
    if (frames.isPlainRow()) {
      encoded.close();
      readToHeap(frames);
      return;
    }
    failIfNeverGranted(frames, memory);
    encoded.ensure(frames.frameBytes(), memory, "a frame of a shuffle block");
    batch.prepare(frames.header(), memory);
    read(frames);
  }

  private void read(FrameReader frames) throws IOException {
    frames.readTo(encoded.address());
    loaded(frames, State.READY);
  }

  /** There is nothing to decode then. */
  private void readToHeap(FrameReader frames) throws IOException {
    batch.readToHeap(frames);
    loaded(frames, State.DONE);
  }

  private synchronized void loaded(FrameReader frames, State next) {
    header = frames.header();
    input = frames.input();
    offset = frames.offset();
    submitted = next == State.DONE;
    failure = null;
    nanos = 0;
    byPool = false;
    state = next;
  }

  /**
   * Gives the job to an idle thread of {@code pool}, if its rows are worth it.
   *
   * @param minBytes of rows
   * @return whether a pool thread has it or will have it
   */
  boolean submit(WorkerPool pool, long minBytes) {
    if (!submitted && header.decodedBytes() >= minBytes) {
      submitted = pool.trySubmit(this::runOnPool) != null;
    }
    return submitted;
  }

  private Void runOnPool() {
    if (claim()) {
      decode(true);
    }
    return null;
  }

  private synchronized boolean claim() {
    boolean mine = state == State.READY;
    state = mine ? State.RUNNING : state;
    return mine;
  }

  private void decode(boolean onPool) {
    long start = System.nanoTime();
    Throwable thrown = null;
    try {
      batch.decode(decoder, header, encoded.address(), FrameHeader.BYTES + header.encodedBytes());
    } catch (IOException | RuntimeException | Error e) {
      thrown = e;
    }
    synchronized (this) {
      encoded.freeIfLarge();
      failure = thrown;
      nanos = System.nanoTime() - start;
      byPool = onPool;
      if (state == State.CLOSED) {
        free();
      } else {
        state = State.DONE;
      }
      notifyAll();
    }
  }

  /**
   * The decoded rows: decodes them now unless another thread has begun to.
   *
   * @throws BlockReadException when the frame is corrupt
   */
  DecodedBatch finish(TaskContext context, ReadCounts counts) throws IOException {
    if (claim()) {
      decode(false);
    }
    awaitDone(context);
    if (failure instanceof IOException corrupt) {
      throw new BlockReadException(input.block(), offset, corrupt, input.diagnose(corrupt));
    }
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw new SluiceException("decoding a frame of block " + input.block().id() + " at byte " + offset
          + " failed: " + failure.getMessage(), failure);
    }
    counts.decoded(header, nanos, byPool);
    return batch;
  }

  private synchronized void awaitDone(TaskContext context) {
    try {
      while (state != State.DONE) {
        wait(WAIT_MILLIS);
        context.killTaskIfInterrupted();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      context.killTaskIfInterrupted();
      throw new SluiceException("interrupted while a frame was being decoded", e);
    }
  }

  /** Bytes of {@link ReadAheadLimit} that this job holds. */
  long permitBytes() {
    return permitBytes;
  }

  void setPermitBytes(long bytes) {
    permitBytes = bytes;
  }

  /** Ends the life of finished rows; the memory is kept for the next frame. */
  synchronized void recycle() {
    if (state != State.DONE) {
      throw new IllegalStateException("recycled in state " + state);
    }
    state = State.EMPTY;
    batch.recycle();
    input = null;
  }

  synchronized void close() {
    boolean running = state == State.RUNNING;
    state = State.CLOSED;
    if (running) {
      encoded.detach();
      batch.detach();
    } else {
      free();
    }
  }

  private void free() {
    encoded.close();
    batch.close();
  }
}
