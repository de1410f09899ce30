package io.sluice.bench.report;

import io.sluice.bench.protocol.Reply;

/** One line per step, when it is done. */
final class ProgressLines implements Progress {

  private final String title;
  private String step = "";

  ProgressLines(String title) {
    this.title = title;
  }

  @Override
  public void step(String what) {
    step = what;
  }

  @Override
  public void tasks(Reply progress) {
    // A log shows no progress within a step.
  }

  @Override
  public void stepDone(String outcome) {
    System.err.println(title + ": " + step + ": " + outcome);
  }

  @Override
  public void close() {
    // Every line is complete.
  }
}
