package io.sluice.spark.gpu;

import io.sluice.spark.decode.ReadMemory;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.NearerCopies;
import io.sluice.spark.fetch.ShuffleBlock;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks of which the GPU's memory has a copy while the host's is on the disk. They come to memory of the task by a
 * thread that waits for the GPU; the task's waits for that one, as long as the settings say, and reads the file if it
 * has no answer then. Memory that the GPU may still write to belongs to the thread that waits for it. One reader.
 */
public final class GpuCopies implements NearerCopies {
  private static final Logger LOG = LoggerFactory.getLogger(GpuCopies.class);
  /** A smaller block is read from the disk before two threads have woken each other. */
  private static final long LEAST_BYTES = 64 << 10;
  /** Larger ones are read piece by piece, with less memory. */
  private static final long MOST_BYTES = 64 << 20;

  private final ExecutorGpu gpu;
  private final ReadMemory memory;
  private final Duration patience;
  /** After a read that took too long. */
  private boolean gaveUp;

  /**
   * @param memory of the reader
   * @param patience how long the GPU may take for a block
   */
  public GpuCopies(ExecutorGpu gpu, ReadMemory memory, Duration patience) {
    this.gpu = gpu;
    this.memory = memory;
    this.patience = patience;
  }

  @Override
  public BlockInput open(ShuffleBlock block, long bytes, Supplier<String> diagnosis) {
    if (gaveUp || bytes < LEAST_BYTES || bytes > MOST_BYTES || !gpu.hasNearerCopy(block.shuffleId(), block.mapId())) {
      return null;
    }
    ReadMemory.Piece piece = memory.tryTake(bytes);
    if (piece == null) {
      gpu.countMissedCopy();
      return null;
    }
    Target target = new Target(piece);
    Future<Boolean> read = gpu.tryRead(block.shuffleId(), block.mapId(), block.reduceId(), block.endReduceId(),
        piece.address(), bytes, target::gpuEnds);
    if (read != null && isThere(read)) {
      return new GpuCopyInput(block, piece, bytes, diagnosis);
    }
    if (read == null) {
      gpu.countMissedCopy();
    }
    if (read == null || target.readerEnds()) {
      piece.free();
    }
    return null;
  }

  /** Waits for the answer. One that comes later is counted then, too. */
  private boolean isThere(Future<Boolean> read) {
    try {
      return read.get(patience.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      LOG.debug("A copy on the GPU could not be read", e);
    } catch (TimeoutException e) {
      gaveUp = true;
      LOG.warn("The GPU has not copied a block within {} s; the task reads it from the disk, and those after it",
          patience.toSeconds());
    } catch (InterruptedException e) {
      // A task that is killed: reading the file ends it.
      Thread.currentThread().interrupt();
    }
    gpu.countMissedCopy();
    return false;
  }

  /** The memory of one read, which is freed by whoever ends later: the reader, or the thread that waits for the GPU. */
  private static final class Target {
    private final ReadMemory.Piece piece;
    private final AtomicBoolean oneHasEnded = new AtomicBoolean();

    Target(ReadMemory.Piece piece) {
      this.piece = piece;
    }

    /** The GPU does not use it any more. */
    void gpuEnds() {
      if (oneHasEnded.getAndSet(true)) {
        piece.free();
      }
    }

    /** The reader does not want it. Returns whether the GPU has ended; if not, it will free the memory. */
    boolean readerEnds() {
      // The task's account may end before the GPU does.
      piece.detach();
      return oneHasEnded.getAndSet(true);
    }
  }
}
