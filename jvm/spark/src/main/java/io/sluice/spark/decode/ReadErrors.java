package io.sluice.spark.decode;

import io.sluice.spark.SluiceException;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.FetchFailures;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import org.apache.spark.TaskContext;

/** Maps an error of a reader to the exception that the task, and so the scheduler, gets. */
public record ReadErrors(TaskContext context, FetchFailures failures) {

  /** Rows are asked for after the task has ended, was killed, or after an error; never returns. */
  public RuntimeException ended(Throwable suppressed) {
    context.killTaskIfInterrupted();
    SluiceException ended = new SluiceException("shuffle rows were asked for after their task had ended or failed");
    if (suppressed != null) {
      ended.addSuppressed(suppressed);
    }
    throw ended;
  }

  /**
   * A consumer has met {@code thrown} and has freed the batches; never returns.
   *
   * @param whileFreeing null if nothing was thrown then
   */
  public RuntimeException failed(ReaderState state, Throwable thrown, Throwable whileFreeing) {
    if (whileFreeing != null) {
      thrown.addSuppressed(whileFreeing);
    }
    boolean taskHasEnded = state.isClosedWhileBusy();
    state.finish(false);
    throw taskHasEnded ? ended(thrown) : translate(thrown);
  }

  /** Throws the exception that {@code thrown} is mapped to; never returns. */
  RuntimeException translate(Throwable thrown) {
    context.killTaskIfInterrupted();
    if (thrown instanceof BlockReadException unreadable && !interrupted(unreadable)) {
      throw failures.raise(unreadable);
    }
    if (thrown instanceof IOException) {
      throw new SluiceException("reading shuffle blocks stopped: " + thrown.getMessage(), thrown);
    }
    throw failures.passOn(thrown);
  }

  /** An interrupt without a kill comes from other code of the application; the block is not at fault. */
  private static boolean interrupted(BlockReadException unreadable) {
    return unreadable.getCause() instanceof ClosedByInterruptException || Thread.currentThread().isInterrupted();
  }
}
