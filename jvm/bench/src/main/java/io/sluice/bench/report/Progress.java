package io.sluice.bench.report;

import io.sluice.bench.protocol.Reply;

/**
 * Tells the user on standard error how far a series of steps is: a bar on a terminal, a line per step elsewhere.
 * Used by one thread.
 */
public interface Progress extends AutoCloseable {

  /** Starts telling about {@code steps} steps of {@code title}. The entry script says whether there is a terminal. */
  static Progress start(String title, int steps) {
    boolean terminal = "1".equals(System.getenv("SLUICE_TERMINAL"));
    return terminal ? new ProgressOnTerminal(title, steps) : new ProgressLines(title);
  }

  /** The next step begins. */
  void step(String what);

  /** Spark finished tasks of the step. */
  void tasks(Reply progress);

  /** The step is over; {@code outcome} in a few words. */
  void stepDone(String outcome);

  @Override
  void close();
}
