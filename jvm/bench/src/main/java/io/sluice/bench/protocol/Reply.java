package io.sluice.bench.protocol;

import io.sluice.bench.check.Digest;

/**
 * One line from a driver to the command line.
 *
 * @param kind which of the other components is set
 * @param tasksDone for {@code PROGRESS}: tasks finished since the request
 * @param tasksKnown for {@code PROGRESS}: tasks of the stages submitted since the request
 * @param run for {@code RUN}
 * @param digest for {@code DIGEST}
 * @param error for {@code ERROR}: what failed and why, for the user
 */
public record Reply(Kind kind, long tasksDone, long tasksKnown, RunMetrics run, Digest digest, String error) {

  /** The replies; all but {@code PROGRESS} end a request. */
  public enum Kind { READY, PROGRESS, RUN, DIGEST, ERROR }

  public static Reply ready() {
    return new Reply(Kind.READY, 0, 0, null, null, null);
  }

  public static Reply progress(long tasksDone, long tasksKnown) {
    return new Reply(Kind.PROGRESS, tasksDone, tasksKnown, null, null, null);
  }

  public static Reply run(RunMetrics run) {
    return new Reply(Kind.RUN, 0, 0, run, null, null);
  }

  public static Reply digest(Digest digest) {
    return new Reply(Kind.DIGEST, 0, 0, null, digest, null);
  }

  public static Reply error(String error) {
    return new Reply(Kind.ERROR, 0, 0, null, null, error);
  }
}
