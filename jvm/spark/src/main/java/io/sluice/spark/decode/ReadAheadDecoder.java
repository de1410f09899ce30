package io.sluice.spark.decode;

import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.metrics.ReadCounts;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.spark.TaskContext;

/**
 * Has the next frames decoded by pool threads while the consumer works on the current one, in order.
 *
 * <pre>
 *   FrameReader ─► spare job ─► ahead: [ job, job, … ] ─► served ─► spare        a job: a frame, or several small ones
 *                                 │ an idle pool thread decodes it, else the task does when its turn comes
 * </pre>
 *
 * <p>It reads ahead only blocks that have arrived, only while the task's {@link
 * ReadAheadLimit} and its memory allow it, and gives the pool only what takes longer to decode than a thread
 * switch: a job has one frame, or small ones, of one block or of several, up to that size. The first frame is always
 * decoded, after a wait for memory if needed. An error in a later frame is thrown when the consumer reaches that frame.
 * Only the consuming thread touches memory accounts and blocks.
 */
public final class ReadAheadDecoder implements BatchSource {
  /** Rows of so many bytes take longer to decode than a thread takes to wake up. */
  public static final long MIN_POOL_BYTES = 32 * 1024;

  private final FrameReader frames;
  private final FrameDecoder decoder;
  private final ReadMemory memory;
  private final TaskContext context;
  private final WorkerPool pool;
  private final ReadAheadLimit inFlight;
  private final ReadCounts counts;
  private final int depth;
  private final long minPoolBytes;
  private final Deque<DecodeJob> ahead = new ArrayDeque<>();
  private final Deque<DecodeJob> spare = new ArrayDeque<>();
  private DecodeJob served;
  /** Whether the current frame of {@link #frames} has not been given to a job yet. */
  private boolean frameWaits;
  private IOException laterFailure;

  /**
   * @param depth most jobs ahead of the one being consumed
   * @param minPoolBytes smallest job, in bytes of rows, that is given to the pool
   */
  public ReadAheadDecoder(FrameReader frames, FrameDecoder decoder, ReadMemory memory, TaskContext context,
      WorkerPool pool, ReadAheadLimit inFlight, ReadCounts counts, int depth, long minPoolBytes) {
    this.frames = frames;
    this.decoder = decoder;
    this.memory = memory;
    this.context = context;
    this.pool = pool;
    this.inFlight = inFlight;
    this.counts = counts;
    this.depth = depth;
    this.minPoolBytes = minPoolBytes;
  }

  @Override
  public boolean hasNext() throws IOException {
    if (served != null) {
      served.failIfCutShort();
    }
    if (!ahead.isEmpty()) {
      return true;
    }
    if (laterFailure != null) {
      throw laterFailure;
    }
    return advanceToFrame();
  }

  @Override
  public DecodedBatch next() throws IOException {
    recycleServed();
    if (ahead.isEmpty()) {
      loadFirst();
    }
    served = ahead.poll();
    if (laterFailure == null) {
      readAhead();
    }
    return served.finish(context, counts);
  }

  /** If it fails, the consumer closes all jobs. */
  private void loadFirst() throws IOException {
    DecodeJob job = spareJob();
    ahead.add(job);
    if (!job.tryLoad(frames, memory)) {
      closeSpares();
      job.load(frames, memory);
    }
    frameWaits = false;
  }

  private void readAhead() {
    try {
      while (submitAll() && arrivedFrame()) {
        DecodeJob last = ahead.peekLast();
        if ((last == null || last.isSubmitted() || !appendTo(last)) && (ahead.size() >= depth || !loadAhead())) {
          return;
        }
      }
    } catch (IOException e) {
      laterFailure = e;
    }
  }

  /** Gives the pool the jobs that are worth it; false when no thread is idle, so that reading ahead is no use. */
  private boolean submitAll() {
    for (DecodeJob waiting : ahead) {
      if (!waiting.isSubmitted() && waiting.rowBytes() >= minPoolBytes && !waiting.submit(pool)) {
        return false;
      }
    }
    return pool.hasIdle();
  }

  /** Moves to the next frame if it has arrived. */
  private boolean arrivedFrame() throws IOException {
    return (frameWaits || frames.nextHasArrived()) && advanceToFrame();
  }

  private boolean appendTo(DecodeJob job) throws IOException {
    long bytes = DecodeJob.bytesFor(frames);
    if (!inFlight.tryAcquire(bytes)) {
      return false;
    }
    boolean appended = false;
    try {
      appended = job.tryAppend(frames);
    } finally {
      if (!appended) {
        inFlight.release(bytes);
      }
    }
    if (appended) {
      frameWaits = false;
      job.setPermitBytes(job.permitBytes() + bytes);
    }
    return appended;
  }

  private boolean loadAhead() throws IOException {
    long bytes = DecodeJob.bytesFor(frames);
    if (!inFlight.tryAcquire(bytes)) {
      return false;
    }
    DecodeJob job = spareJob();
    boolean loaded = false;
    try {
      loaded = job.tryLoad(frames, memory);
    } finally {
      if (!loaded) {
        inFlight.release(bytes);
        spare.add(job);
      }
    }
    if (loaded) {
      frameWaits = false;
      job.setPermitBytes(bytes);
      ahead.add(job);
    }
    return loaded;
  }

  private boolean advanceToFrame() throws IOException {
    frameWaits = frameWaits || frames.next();
    return frameWaits;
  }

  private DecodeJob spareJob() {
    return spare.isEmpty() ? new DecodeJob(decoder) : spare.poll();
  }

  private void recycleServed() {
    if (served != null) {
      releasePermit(served);
      served.recycle();
      spare.push(served);
      served = null;
    }
  }

  private void releasePermit(DecodeJob job) {
    inFlight.release(job.permitBytes());
    job.setPermitBytes(0);
  }

  private void closeSpares() {
    spare.forEach(DecodeJob::close);
    spare.clear();
  }

  @Override
  public void close() throws IOException {
    if (served != null) {
      ahead.add(served);
      served = null;
    }
    for (DecodeJob job : ahead) {
      releasePermit(job);
      job.close();
    }
    ahead.clear();
    closeSpares();
    try (frames) {
      counts.flush();
    }
  }
}
