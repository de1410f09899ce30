package io.sluice.bench.report;

import io.sluice.bench.protocol.Reply;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** A bar over all steps, which moves with Spark's tasks inside a step and vanishes at the end. */
final class ProgressOnTerminal implements Progress {

  private static final int UNITS_PER_STEP = 100;
  private static final int REFRESH_MILLIS = 200;

  private final ProgressBar bar;
  private int stepsDone;

  ProgressOnTerminal(String title, int steps) {
    bar = new ProgressBarBuilder()
        .setTaskName(title)
        .setInitialMax((long) steps * UNITS_PER_STEP)
        .setUpdateIntervalMillis(REFRESH_MILLIS)
        .setStyle(ProgressBarStyle.ASCII)
        .setConsumer(new ConsoleProgressBarConsumer(System.err))
        .hideEta()
        .clearDisplayOnFinish()
        .build();
  }

  @Override
  public void step(String what) {
    bar.setExtraMessage(" " + what);
  }

  @Override
  public void tasks(Reply progress) {
    // A job's later stages are not known yet: the bar never claims a whole step before it is done.
    long part = progress.tasksDone() * (UNITS_PER_STEP - 1) / Math.max(1, progress.tasksKnown());
    bar.stepTo((long) stepsDone * UNITS_PER_STEP + Math.min(part, UNITS_PER_STEP - 1));
  }

  @Override
  public void stepDone(String outcome) {
    stepsDone++;
    bar.stepTo((long) stepsDone * UNITS_PER_STEP);
  }

  @Override
  public void close() {
    bar.close();
  }
}
