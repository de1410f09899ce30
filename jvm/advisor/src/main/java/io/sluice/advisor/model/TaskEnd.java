package io.sluice.advisor.model;

/** A task that has ended, as it is read field by field. One thread; forgotten once it is added to its stage. */
public final class TaskEnd {
  private final long[] figures = new long[TaskFigure.values().length];
  private int stage = -1;
  private int attempt;
  private long launchedMs;
  private long finishedMs;
  private boolean succeeded;

  public void stage(int id) {
    stage = id;
  }

  public void attempt(int number) {
    attempt = number;
  }

  public void launchedMs(long time) {
    launchedMs = time;
  }

  public void finishedMs(long time) {
    finishedMs = time;
  }

  public void succeeded(boolean yes) {
    succeeded = yes;
  }

  public void set(TaskFigure figure, long value) {
    figures[figure.ordinal()] = value;
  }

  int stage() {
    return stage;
  }

  int attempt() {
    return attempt;
  }

  long launchedMs() {
    return launchedMs;
  }

  long finishedMs() {
    return finishedMs;
  }

  boolean succeeded() {
    return succeeded;
  }

  long get(TaskFigure figure) {
    return figures[figure.ordinal()];
  }
}
