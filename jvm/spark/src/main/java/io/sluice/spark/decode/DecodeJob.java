package io.sluice.spark.decode;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.SluiceException;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.seal.OutputKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.TaskContext;

/**
 * One frame, or several small ones that follow each other, on their way to rows: their bytes, and the batch that they
 * become. A pool thread or the task's thread decodes them, whichever takes the job first. The object is reused for
 * later frames.
 *
 * <pre>
 *   EMPTY ─load─► READY ─(one thread)─► RUNNING ─► DONE ─recycle─► EMPTY        any ─close─► CLOSED
 *         │      append ▲                            ▲
 *         └────(a plain row read to the heap)────────┘
 * </pre>
 *
 * All methods belong to the consuming thread; a pool thread runs {@link #poolTask}. A job that is closed while a pool
 * thread decodes it is left to that thread, which frees its memory when it is done.
 */
final class DecodeJob {
  private static final long WAIT_MILLIS = 100;

  private enum State { EMPTY, READY, RUNNING, DONE, CLOSED }

  private final FrameDecoder decoder;
  private final DecodedBatch batch = new DecodedBatch();
  private final ReusedMemory encoded = new ReusedMemory();
  private final List<Part> parts = new ArrayList<>();
  /** Of all parts. */
  private long encodedBytes;
  private long rowBytes;
  private long records;
  private long permitBytes;
  private boolean submitted;

  // Guarded by this; the decoding thread's writes are visible to others after the change to DONE.
  private State state = State.EMPTY;
  /** Counts how often the job was loaded. Changed by the consuming thread only. */
  private long load;
  private boolean byPool;
  private long nanos;
  private Throwable failure;
  /** Parts that became rows. */
  private int decodedParts;

  /** A frame of the job, and where it comes from. */
  private record Part(FrameHeader header, BlockInput input, long offset, OutputKeys keys) {
    long frameBytes() {
      return FrameHeader.BYTES + header.encodedBytes();
    }
  }

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

  /**
   * Reads the current frame to behind those that were read before, if it has as many fields and there is room; it asks
   * for no memory. The job has not been given to a pool.
   *
   * @return false if the frame was not read
   */
  boolean tryAppend(FrameReader frames) throws IOException {
    FrameHeader next = frames.header();
    boolean fits = !parts.isEmpty() && next.fields() == parts.get(0).header().fields()
        && encodedBytes + frames.frameBytes() <= encoded.bytes()
        && batch.hasRoom(rowBytes + next.decodedBytes(), records + next.records());
    if (fits) {
      frames.readTo(encoded.address() + encodedBytes);
      add(frames);
    }
    return fits;
  }

  private void read(FrameReader frames) throws IOException {
    frames.readTo(encoded.address());
    loaded(frames, State.READY);
  }

  /** There is nothing to decode then. */
  private void readToHeap(FrameReader frames) throws IOException {
    batch.readToHeap(frames);
    loaded(frames, State.DONE);
    decodedParts = 1;
    // Nothing can be appended.
    encodedBytes = Long.MAX_VALUE / 2;
  }

  private synchronized void loaded(FrameReader frames, State next) {
    add(frames);
    load++;
    submitted = next == State.DONE;
    failure = null;
    decodedParts = 0;
    nanos = 0;
    byPool = false;
    state = next;
  }

  private void add(FrameReader frames) {
    FrameHeader header = frames.header();
    parts.add(new Part(header, frames.input(), frames.offset(), frames.keys()));
    encodedBytes += frames.frameBytes();
    rowBytes += header.decodedBytes();
    records += header.records();
  }

  /** Bytes of the rows that the frames become. */
  long rowBytes() {
    return rowBytes;
  }

  /** Whether a pool thread has the job or will have it, or there is nothing to decode. */
  boolean isSubmitted() {
    return submitted;
  }

  /**
   * Gives the job to an idle thread of {@code pool}.
   *
   * @return whether a pool thread has it or will have it
   */
  boolean submit(WorkerPool pool) {
    submitted = submitted || pool.trySubmit(poolTask()) != null;
    return submitted;
  }

  /**
   * Decodes the frames that the job has now, unless another thread does. A pool may run it late, when the consumer has
   * decoded these frames itself and is loading others, to which it still appends: it does nothing then.
   */
  Callable<Void> poolTask() {
    long frames = load;
    return () -> {
      if (claim(frames)) {
        decode(true);
      }
      return null;
    };
  }

  /** @param frames the {@link #load} that is to be decoded */
  private synchronized boolean claim(long frames) {
    boolean mine = state == State.READY && load == frames;
    state = mine ? State.RUNNING : state;
    return mine;
  }

  /** Decodes one frame after the other; those before one that cannot be decoded become rows. */
  private void decode(boolean onPool) {
    long start = System.nanoTime();
    Throwable thrown = null;
    int decoded = 0;
    try {
      batch.start(parts.get(0).header());
      long frame = encoded.address();
      for (Part part : parts) {
        batch.append(decoder, part.header(), frame, part.keys(), rowBytes);
        frame += part.frameBytes();
        decoded++;
      }
    } catch (IOException | RuntimeException | Error e) {
      thrown = e;
      batch.endEarly(rowBytes);
    }
    synchronized (this) {
      encoded.freeIfLarge();
      failure = thrown;
      decodedParts = decoded;
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
   * The decoded rows: decodes them now unless another thread has begun to. If a frame cannot be decoded, these are the
   * rows of those before it, and {@link #failIfCutShort} is to be called when they have been consumed.
   *
   * @throws BlockReadException when the first frame is corrupt
   */
  DecodedBatch finish(TaskContext context, ReadCounts counts) throws IOException {
    if (claim(load)) {
      long begun = counts.beginDecodingByTask();
      decode(false);
      counts.endDecodingByTask(begun, nanos);
    }
    awaitDone(context);
    if (decodedParts == 0) {
      failIfCutShort();
    }
    for (int i = 0; i < decodedParts; i++) {
      counts.decoded(parts.get(i).header(), i == 0 ? nanos : 0, byPool);
    }
    return batch;
  }

  /**
   * Fails if one of the frames could not be decoded. The job has finished.
   *
   * @throws BlockReadException when the frame is corrupt
   */
  void failIfCutShort() throws IOException {
    if (failure == null) {
      return;
    }
    Part part = parts.get(decodedParts);
    if (failure instanceof IOException corrupt) {
      throw new BlockReadException(part.input().block(), part.offset(), corrupt, part.input().diagnose(corrupt));
    }
    if (failure instanceof Error error) {
      throw error;
    }
    throw new SluiceException("decoding a frame of block " + part.input().block().id() + " at byte " + part.offset()
        + " failed: " + failure.getMessage(), failure);
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
    parts.clear();
    encodedBytes = 0;
    rowBytes = 0;
    records = 0;
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
