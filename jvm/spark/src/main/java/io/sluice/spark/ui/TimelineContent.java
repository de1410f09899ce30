package io.sluice.spark.ui;

import io.sluice.spark.metrics.ColumnBytes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** One shuffle: when the tasks that wrote and read it ran, as a picture, and how its columns are encoded. */
final class TimelineContent implements PageContent {
  /** A shuffle that is read again and again must not make a page without end. */
  private static final int MOST_STAGES = 6;
  /** How far back a shuffle with a timeline is looked for. */
  private static final int MOST_TRIES = 100;
  /** Stages share an axis unless it would be so many times as long as they are. */
  private static final int MOST_TIMES_AS_LONG = 4;

  private final StatusStore store;

  TimelineContent(StatusStore store) {
    this.store = store;
  }

  @Override
  public String path() {
    return "timeline";
  }

  @Override
  public String title() {
    return "Timeline";
  }

  @Override
  public String html(UnaryOperator<String> parameters) {
    String asked = parameters.apply("id");
    ShuffleRow row = asked == null || asked.trim().isEmpty() ? newest() : find(asked.trim());
    Html html = new Html();
    form(html, row);
    if (row == null) {
      return html.raw(asked == null ? "<p>No shuffle yet.</p>"
          : "<p>There is no shuffle of this number, or the tab has forgotten it.</p>").toString();
    }
    shuffle(html, row);
    return html.toString();
  }

  /** Adds one shuffle. */
  void shuffle(Html html, ShuffleRow row) {
    html.raw("<h4>").text("Shuffle " + row.shuffleId()).raw("</h4><p>")
        .text(ShufflesContent.pathOf(row) + "; " + Amounts.count(row.maps()) + " map tasks, "
            + Amounts.count(row.partitions()) + " reduce partitions.")
        .raw("</p>");
    stages(html, row);
    columns(html, row);
  }

  private ShuffleRow find(String number) {
    try {
      return store.shuffle(Integer.parseInt(number));
    } catch (NumberFormatException e) {
      return null;
    }
  }

  /** The newest shuffle whose tasks are known, or else the newest. */
  private ShuffleRow newest() {
    List<ShuffleRow> shuffles = store.shuffles();
    for (int i = 1; i <= Math.min(MOST_TRIES, shuffles.size()); i++) {
      ShuffleRow row = shuffles.get(shuffles.size() - i);
      if (!timelines(row).isEmpty()) {
        return row;
      }
    }
    return shuffles.isEmpty() ? null : shuffles.get(shuffles.size() - 1);
  }

  private List<StageTimeline> timelines(ShuffleRow row) {
    List<StageTimeline> found = new ArrayList<>();
    for (String stage : row.stages()) {
      StageTimeline timeline = store.timeline(stage);
      if (timeline != null && timeline.ended() > 0 && found.size() < MOST_STAGES) {
        found.add(timeline);
      }
    }
    return found;
  }

  private static void form(Html html, ShuffleRow row) {
    html.raw("<form method=\"get\" action=\"./\" class=\"d-flex form-inline mb-2\">")
        .raw("<label for=\"shuffle\" class=\"me-2 mr-2\">Shuffle</label><input id=\"shuffle\" name=\"id\" ")
        .raw("inputmode=\"numeric\" class=\"form-control form-control-sm me-2 mr-2\" style=\"width:8em\" value=\"")
        .text(row == null ? "" : Integer.toString(row.shuffleId()))
        .raw("\"/><button type=\"submit\" class=\"btn btn-sm btn-secondary\">Show</button></form>");
  }

  private void stages(Html html, ShuffleRow row) {
    List<StageTimeline> timelines = timelines(row);
    if (timelines.isEmpty()) {
      html.raw(
          "<p>No task that wrote or read it has ended yet, or their times are no longer remembered: the tab keeps ")
          .text(Amounts.count(Timelines.RETAINED_TASKS)).raw(" tasks of the newest stages.</p>");
      return;
    }
    legend(html);
    long from = Long.MAX_VALUE;
    long to = 0;
    long together = 1;
    for (StageTimeline each : timelines) {
      from = Math.min(from, each.startMillis());
      to = Math.max(to, each.endMillis());
      together += each.endMillis() - each.startMillis();
    }
    boolean shared = to - from <= MOST_TIMES_AS_LONG * together;
    html.raw("<p class=\"text-muted\">").raw(shared ? "Times are counted from the first stage's start."
        : "Each stage's times are counted from its own start, because much time lies between them.").raw("</p>");
    for (StageTimeline each : timelines) {
      stage(html, row, each, shared ? from : each.startMillis(), shared ? to : each.endMillis());
    }
    if (row.stages().size() > timelines.size()) {
      html.raw("<p class=\"text-muted\">").text((row.stages().size() - timelines.size())
          + " more stages of this shuffle are not shown: too many, without an ended task, or no longer remembered.")
          .raw("</p>");
    }
  }

  private static void legend(Html html) {
    html.raw("<p>");
    Drawing.key(html, TimelineDrawing.RUNS, "the task runs");
    Drawing.key(html, TimelineDrawing.WAITS, "of that, waits for blocks of other executors");
    Drawing.key(html, TimelineDrawing.WRITES, "of that, writes its output");
    Drawing.key(html, TimelineDrawing.FAILED, "an attempt that failed or was killed");
    html.raw("<br/>");
    Drawing.key(html, TimelineDrawing.DECODES, "thin line: threads decode");
    Drawing.key(html, TimelineDrawing.ENCODES, "thin line: threads encode");
    html.raw(
        "</p><p class=\"text-muted\">How long each takes is measured, not when: waits and decoding are drawn at a ")
        .raw(
            "task's beginning, writing and encoding at its end. Threads may work beside the task. How long they did ")
        .raw("is known when the stage has completed.</p>");
  }

  private void stage(Html html, ShuffleRow row, StageTimeline stage, long from, long to) {
    boolean writes = stage.writes() == row.shuffleId();
    String what = "Stage " + stage.stage() + (writes ? " writes it" : " reads it");
    html.raw("<h5>").text(what).raw("</h5><p>").text(Amounts.count(stage.ended()) + " of "
        + Amounts.count(stage.planned()) + " tasks have ended" + (stage.complete() ? "" : ", the stage is not complete")
        + (stage.failed() > 0 ? "; " + Amounts.count(stage.failed()) + " did not succeed" : "")
        + ". Together they took " + millis(stage.runMillis()) + ", waited " + millis(stage.waitMillis())
        + " of it for blocks and wrote for " + millis(stage.writeMillis()) + ".");
    if (TimelineDrawing.isCut(stage)) {
      html.text(" The " + stage.longest().size() + " longest are drawn one by one; above them is how many of all ran "
          + "at a time.");
    }
    html.raw("</p>");
    new TimelineDrawing(html, stage, from, to).draw(what + ": its tasks over time; the same is in the table below");
    table(html, stage, from);
  }

  private static String millis(long millis) {
    return TimelineDrawing.micros(millis * 1_000);
  }

  /** The same for who cannot see the picture. */
  private static void table(Html html, StageTimeline stage, long from) {
    html.raw("<details class=\"mb-3\"><summary>These tasks as a table</summary><div class=\"table-responsive\">")
        .raw("<table class=\"table table-bordered table-sm table-striped w-auto\"><thead><tr>");
    for (String head : new String[] {"Task", "Executor", "From", "Length", "Waits", "Writes", "Decodes", "Encodes"}) {
      html.raw("<th scope=\"col\">").text(head).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
    for (TaskSpan task : stage.longest()) {
      html.raw("<tr>").number(Integer.toString(task.index()))
          .cell(task.executorId() + (task.failed() ? " (failed)" : ""))
          .number(TimelineDrawing.time(task.launchMillis() - from)).number(millis(task.millis()))
          .number(millis(task.waitMillis())).number(millis(task.writeMillis()))
          .number(TimelineDrawing.micros(task.decodeMicros())).number(TimelineDrawing.micros(task.encodeMicros()))
          .raw("</tr>");
    }
    html.raw("</tbody></table></div></details>");
  }

  private static void columns(Html html, ShuffleRow row) {
    if (row.columns().isEmpty()) {
      return;
    }
    long largest = 1;
    for (ColumnBytes column : row.columns()) {
      largest = Math.max(largest, column.encodedBytes());
    }
    html.raw("<h5>How its columns are encoded</h5><p class=\"text-muted\">")
        .text("In " + Amounts.count(row.sampledFrames()) + (row.sampledFrames() == 1 ? " frame" : " frames")
            + ": one of each executor that has read it. Of many columns the largest are shown.")
        .raw("</p>");
    Drawing.encodingKeys(html);
    html.raw("<table class=\"table table-bordered table-sm table-striped w-auto\"><thead><tr>")
        .raw("<th scope=\"col\">Column</th><th scope=\"col\">Bytes of rows</th><th scope=\"col\">Bytes of frames</th>")
        .raw("<th scope=\"col\">Encodings</th></tr></thead><tbody>");
    for (ColumnBytes column : row.columns()) {
      html.raw("<tr>").cell(Drawing.name(column)).number(Amounts.bytes(column.rowBytes()))
          .number(Amounts.bytes(column.encodedBytes()) + " ("
              + Amounts.percent(column.encodedBytes(), column.rowBytes()) + ")")
          .raw("<td>");
      Drawing.encodings(html, column, largest);
      html.raw("</td></tr>");
    }
    html.raw("</tbody></table>");
  }
}
