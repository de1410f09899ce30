package io.sluice.spark.ui;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * The tasks of a stage over time, as SVG. One line a task, the longest ones only if there are many; how many ran at a
 * time is drawn above them then, for all.
 *
 * <pre>
 *                  0 s        0.5 s        1 s
 *   executor 1, 0  |■■waits■■■────runs────■writes■|
 *                  |═══ threads encode or decode ═|
 * </pre>
 */
final class TimelineDrawing {
  static final String RUNS = "#a9b8c6";
  static final String WAITS = "#d95f02";
  static final String WRITES = "#7f67b5";
  static final String ENCODES = "#17a589";
  static final String DECODES = "#2e86c1";
  static final String FAILED = "#cb4335";

  private static final int WIDTH = 1200;
  private static final int LEFT = 190;
  private static final int RIGHT = 30;
  private static final int AXIS = 22;
  private static final int BUSY = 46;
  private static final int LINE = 15;
  private static final int BAR = 8;
  private static final int THREADS = 3;
  private static final int MOST_TICKS = 10;
  private static final int LABEL_CHARACTERS = 20;
  private static final double MICROS_PER_MILLI = 1_000;

  private final Html html;
  private final StageTimeline stage;
  private final long from;
  private final double pixelsPerMilli;
  private final long to;
  private int y;

  /** @param from what is at the left, on the driver's clock in ms; {@code to} likewise at the right */
  TimelineDrawing(Html html, StageTimeline stage, long from, long to) {
    this.html = html;
    this.stage = stage;
    this.from = from;
    this.to = Math.max(from + 1, to);
    this.pixelsPerMilli = (double) (WIDTH - LEFT - RIGHT) / (this.to - from);
  }

  /** Whether not all tasks are drawn one by one. */
  static boolean isCut(StageTimeline stage) {
    return stage.ended() > stage.longest().size();
  }

  void draw(String label) {
    int height = AXIS + (isCut(stage) ? BUSY : 0) + stage.longest().size() * LINE + 4;
    html.raw("<svg role=\"img\" aria-label=\"").text(label).raw("\" viewBox=\"0 0 ").text(WIDTH).raw(" ").text(height)
        .raw("\" width=\"100%\" style=\"max-width:").text(WIDTH)
        .raw("px\" font-size=\"11\" fill=\"currentColor\" xmlns=\"http://www.w3.org/2000/svg\">");
    axis(height);
    y = AXIS;
    if (isCut(stage)) {
      busy();
    }
    List<TaskSpan> tasks = new ArrayList<>(stage.longest());
    tasks.sort(Comparator.comparingLong(TaskSpan::launchMillis).thenComparingInt(TaskSpan::index)
        .thenComparingLong(TaskSpan::taskId));
    tasks.forEach(this::task);
    html.raw("</svg>");
  }

  private double x(long millis) {
    return LEFT + (Math.min(to, Math.max(from, millis)) - from) * pixelsPerMilli;
  }

  private void axis(int height) {
    long step = tick(to - from);
    for (long at = 0; at <= to - from; at += step) {
      double x = x(from + at);
      html.raw("<path stroke=\"currentColor\" stroke-opacity=\"0.2\" d=\"M").raw(Drawing.px(x)).raw(" ").text(AXIS - 6)
          .raw("V").text(height).raw("\"/><text text-anchor=\"middle\" x=\"").raw(Drawing.px(x)).raw("\" y=\"")
          .text(AXIS - 10).raw("\">").text(time(at)).raw("</text>");
    }
  }

  /** 1, 2 or 5 times a power of ten, so that there are not too many. */
  static long tick(long millis) {
    long power = 1;
    while (true) {
      for (long step : new long[] {power, 2 * power, 5 * power}) {
        if (millis / step <= MOST_TICKS) {
          return step;
        }
      }
      power *= 10;
    }
  }

  static String time(long millis) {
    if (millis < TimeUnit.SECONDS.toMillis(1)) {
      return millis + " ms";
    }
    return String.format(Locale.ROOT, millis % TimeUnit.SECONDS.toMillis(1) == 0 ? "%.0f s" : "%.2f s", millis / 1e3);
  }

  /** How many tasks ran at a time. */
  private void busy() {
    long most = 1;
    for (long busy : stage.busyMillis()) {
      most = Math.max(most, busy);
    }
    String atOnce = String.format(Locale.ROOT, "%.1f", (double) most / stage.stepMillis());
    html.raw("<g><title>").text("All " + Amounts.count(stage.ended()) + " tasks: how many ran at a time, at most "
        + atOnce + " in " + time(stage.stepMillis())).raw("</title><text x=\"0\" y=\"").text(y + BUSY / 2).raw("\">")
        .text("running: at most " + atOnce).raw("</text><path fill=\"").raw(RUNS).raw("\" d=\"");
    long[] busy = stage.busyMillis();
    for (int i = 0; i < busy.length; i++) {
      long start = stage.startMillis() + i * stage.stepMillis();
      if (busy[i] > 0) {
        double height = Math.max(1, (double) (BUSY - 8) * busy[i] / most);
        html.raw("M").raw(Drawing.px(x(start))).raw(" ").raw(Drawing.px(y + BUSY - 6 - height)).raw("H")
            .raw(Drawing.px(x(start + stage.stepMillis()))).raw("v").raw(Drawing.px(height)).raw("H")
            .raw(Drawing.px(x(start))).raw("z");
      }
    }
    html.raw("\"/></g>");
    y += BUSY;
  }

  private void task(TaskSpan task) {
    double start = x(task.launchMillis());
    double width = Math.max(1, x(task.finishMillis()) - start);
    html.raw("<g><title>").text(describe(task)).raw("</title><text x=\"0\" y=\"").text(y + BAR + 2).raw("\">")
        .text(label(task)).raw("</text>");
    rect(start, width, y, BAR, task.failed() ? FAILED : RUNS);
    double waits = Math.min(width, task.waitMillis() * pixelsPerMilli);
    double writes = Math.min(width - waits, task.writeMillis() * pixelsPerMilli);
    rect(start, waits, y, BAR, WAITS);
    rect(start + width - writes, writes, y, BAR, WRITES);
    double decodes = Math.min(width, task.decodeMicros() / MICROS_PER_MILLI * pixelsPerMilli);
    double encodes = Math.min(width, task.encodeMicros() / MICROS_PER_MILLI * pixelsPerMilli);
    rect(start, decodes, y + BAR + 1, THREADS, DECODES);
    rect(start + width - encodes, Math.min(encodes, width - decodes), y + BAR + 1, THREADS, ENCODES);
    html.raw("</g>");
    y += LINE;
  }

  private void rect(double x, double width, int top, int height, String colour) {
    if (width > 0) {
      html.raw("<rect x=\"").raw(Drawing.px(x)).raw("\" y=\"").text(top).raw("\" width=\"").raw(Drawing.px(width))
          .raw("\" height=\"").text(height).raw("\" fill=\"").raw(colour).raw("\"/>");
    }
  }

  private static String label(TaskSpan task) {
    String text = "task " + task.index() + ", executor " + task.executorId();
    return text.length() <= LABEL_CHARACTERS + 8 ? text : text.substring(0, LABEL_CHARACTERS + 7) + "…";
  }

  private String describe(TaskSpan task) {
    return "Task " + task.index() + " (number " + task.taskId() + ") on executor " + task.executorId()
        + (task.failed() ? ", which did not succeed" : "") + ": from " + time(task.launchMillis() - from) + ", "
        + time(task.millis()) + " long; waited " + time(task.waitMillis()) + " for blocks, wrote "
        + time(task.writeMillis()) + "; threads decoded " + micros(task.decodeMicros()) + " and encoded "
        + micros(task.encodeMicros());
  }

  static String micros(long micros) {
    return Amounts.nanos(TimeUnit.MICROSECONDS.toNanos(micros));
  }
}
