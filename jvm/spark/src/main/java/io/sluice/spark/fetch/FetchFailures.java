package io.sluice.spark.fetch;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameNotAuthenticException;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.util.function.IntConsumer;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.MetadataFetchFailedException;

/**
 * The only place that makes a {@link FetchFailedException}: the scheduler then runs the map task again and
 * retries the stage.
 *
 * <p>Its constructor has a side effect: it records the failure in the {@code TaskContext} of the current thread, so
 * that user code cannot hide it. So it is made on the consuming thread and thrown at once.
 */
public final class FetchFailures {
  private final Counters counters;
  private final IntConsumer beforeReport;

  public FetchFailures(Counters counters) {
    this(counters, shuffleId -> {});
  }

  /** @param beforeReport called with the shuffle's id before a failure is reported */
  public FetchFailures(Counters counters, IntConsumer beforeReport) {
    this.counters = counters;
    this.beforeReport = beforeReport;
  }

  /** Reports {@code failure} to the scheduler; never returns. */
  public RuntimeException raise(BlockReadException failure) {
    counters.increment(Counter.READ_FETCH_FAILURES);
    if (failure.getCause() instanceof CorruptFrameException) {
      counters.increment(Counter.READ_CORRUPT_FRAMES);
    }
    if (failure.getCause() instanceof FrameNotAuthenticException) {
      counters.increment(Counter.READ_FRAMES_NOT_AUTHENTIC);
    }
    ShuffleBlock block = failure.block();
    beforeReport.accept(block.shuffleId());
    throw FetchFailures.<RuntimeException>unchecked(new FetchFailedException(
        block.address(), block.shuffleId(), block.mapId(), block.mapIndex(), block.reduceId(),
        message(failure), failure.getCause()));
  }

  /** Reports that the tracker of map outputs does not know a shuffle; never returns. */
  public RuntimeException raiseUnknown(int shuffleId, int reduceId) {
    counters.increment(Counter.READ_FETCH_FAILURES);
    beforeReport.accept(shuffleId);
    throw FetchFailures.<RuntimeException>unchecked(new MetadataFetchFailedException(shuffleId, reduceId,
        "Sluice cannot read partition " + reduceId + " of shuffle " + shuffleId
            + ": the shuffle was removed while a task read it"));
  }

  /** Throws {@code thrown} as it is, which may be a fetch failure that Spark's own iterator made; never returns. */
  public RuntimeException passOn(Throwable thrown) {
    if (thrown instanceof FetchFailedException) {
      counters.increment(Counter.READ_FETCH_FAILURES);
    }
    throw FetchFailures.<RuntimeException>unchecked(thrown);
  }

  private static String message(BlockReadException failure) {
    ShuffleBlock block = failure.block();
    String text = "Sluice cannot read block " + block.id() + " of map index " + block.mapIndex() + " from "
        + block.address() + " at byte " + failure.offset() + ": " + failure.getCause();
    return failure.diagnosis() == null ? text : text + ". " + failure.diagnosis();
  }

  /** Spark's exception is checked, Scala's iterators declare none. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
    throw (E) thrown;
  }
}
