package io.sluice.advisor.report;

import io.sluice.advisor.estimate.Advice;
import io.sluice.advisor.estimate.ApplicationEstimate;
import io.sluice.advisor.estimate.Part;
import io.sluice.advisor.estimate.ShuffleEstimate;
import io.sluice.advisor.estimate.ShuffleKind;
import io.sluice.advisor.estimate.StageEstimate;
import io.sluice.advisor.model.TaskFigure;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The report for a terminal: a line per application, then each with its stages. Plain text, 120 columns. */
public final class TextReport {
  private static final int WIDTH = 120;
  private static final int STAGES = 12;
  private static final int NAME = 30;
  private static final int TITLE = 62;
  private static final int LABEL = 14;

  private final StringBuilder out = new StringBuilder();

  private TextReport() {}

  public static String render(AdviceReport report) {
    TextReport text = new TextReport();
    text.out.append("Sluice ").append(report.version())
        .append(" advisor: what these applications would gain from Sluice\n");
    if (report.applications().size() > 1) {
      text.overview(report.applications());
    }
    report.applications().forEach(text::application);
    if (!report.applications().isEmpty()) {
      text.out.append('\n');
      text.paragraph("", 0, "Estimates from the logs' task times and constants that were measured on one machine; "
          + "--html FILE writes a page that explains each figure. To know, run the job twice.");
    }
    return text.out.toString();
  }

  private void overview(List<ApplicationEstimate> applications) {
    line("");
    line(String.format(Locale.ROOT, "%-" + TITLE + "s %9s %11s %13s  %s", "application", "took", "with Sluice",
        "times as fast", "how sure"));
    for (ApplicationEstimate estimate : applications) {
      boolean known = !estimate.onSluice();
      line(String.format(Locale.ROOT, "%-" + TITLE + "s %9s %11s %13s  %s",
          Words.cut(AdviceReport.title(estimate), TITLE), Words.time(estimate.beforeS()),
          known ? Words.time(estimate.afterS()) : "-", known ? Words.times(estimate.speedup()) : "-",
          known ? estimate.confidence().level().word() : "on Sluice already"));
    }
  }

  private void application(ApplicationEstimate estimate) {
    Advice advice = Advice.of(estimate);
    line("");
    line(Words.cut(AdviceReport.title(estimate), WIDTH));
    paragraph("  log", LABEL, estimate.application().log());
    paragraph("  ran on", LABEL, AdviceReport.where(estimate) + ", " + Words.time(estimate.beforeS()));
    paragraph("  advice", LABEL, advice.verdict());
    if (!estimate.onSluice()) {
      prediction(estimate);
      stages(estimate);
    }
    advice.noGain().forEach(sentence -> paragraph("  no gain", LABEL, sentence));
    settings(advice);
  }

  private void prediction(ApplicationEstimate estimate) {
    paragraph("  whole time", LABEL, String.format(Locale.ROOT, "%s → %s: %s times as fast (likely %s to %s)",
        Words.time(estimate.beforeS()), Words.time(estimate.afterS()), Words.times(estimate.speedup()),
        Words.times(estimate.lowestSpeedup()), Words.times(estimate.highestSpeedup())));
    paragraph("  task time", LABEL, Words.time(estimate.taskS()) + " → "
        + Words.time(estimate.taskS() - estimate.savedS(null)) + parts(estimate));
    if (estimate.bytesBefore() > 0) {
      paragraph("  written", LABEL,
          Words.bytes(estimate.bytesBefore()) + " → " + Words.bytes(estimate.bytesAfter()) + " to shuffles");
    }
    paragraph("  how sure", LABEL, estimate.confidence().level().word());
    estimate.confidence().doubts().forEach(doubt -> paragraph("", LABEL, "- " + doubt));
  }

  private static String parts(ApplicationEstimate estimate) {
    StringBuilder parts = new StringBuilder();
    for (Part part : Part.values()) {
      double saved = estimate.savedS(part);
      if (saved >= 0.05) {
        parts.append(parts.length() == 0 ? "; saved by " : ", ").append(part.title()).append(' ')
            .append(Words.time(saved));
      }
    }
    return parts.toString();
  }

  private void stages(ApplicationEstimate estimate) {
    List<StageEstimate> stages = AdviceReport.stages(estimate, STAGES);
    if (stages.isEmpty()) {
      return;
    }
    String row = "  %5s %-" + NAME + "s %6s %9s %9s  %9s %9s  %-4s %s";
    line("");
    line(String.format(Locale.ROOT, row, "stage", "name", "tasks", "task time", "Sluice", "written", "Sluice", "sure",
        "why"));
    for (StageEstimate stage : stages) {
      long written = stage.stage().totals().sum(TaskFigure.WRITTEN_BYTES);
      line(Words.cut(String.format(Locale.ROOT, row, stage.stage().id(), Words.cut(stage.stage().name(), NAME),
          Words.count(stage.stage().totals().tasks()), Words.time(stage.stage().totals().runS()),
          Words.time(stage.runS()), written > 0 ? Words.bytes(written) : "",
          written > 0 ? Words.bytes(stage.bytesWritten()) : "", stage.confidence().level().word(), why(stage)),
          WIDTH));
    }
    more(estimate.stages().stream().filter(StageEstimate::shuffles).count() - stages.size(), "stages with shuffles");
    shuffles(estimate);
    line("");
  }

  private void shuffles(ApplicationEstimate estimate) {
    List<ShuffleEstimate> shuffles = AdviceReport.shuffles(estimate, STAGES);
    if (shuffles.isEmpty()) {
      return;
    }
    String row = "  %8s %-14s %-17s %10s %9s %9s %9s %9s  %s";
    line("");
    line(String.format(Locale.ROOT, row, "shuffle", "read", "", "", "", "", "saved", "saved", ""));
    line(String.format(Locale.ROOT, row, "of stage", "by stages", "moves", "partitions", "written", "Sluice", "writing",
        "reading", "how sure"));
    for (ShuffleEstimate shuffle : shuffles) {
      StageEstimate writer = shuffle.writer();
      line(Words.cut(String.format(Locale.ROOT, row, writer.stage().id(),
          Words.cut(AdviceReport.readers(shuffle), 14), writer.written().map(ShuffleKind::title).orElse(""),
          writer.partitions() > 0 ? Words.count(writer.partitions()) : "",
          Words.bytes(writer.stage().totals().sum(TaskFigure.WRITTEN_BYTES)), Words.bytes(writer.bytesWritten()),
          Words.time(shuffle.savedWritingS()), Words.time(shuffle.savedInAllS() - shuffle.savedWritingS()),
          shuffle.confidence().level().word()), WIDTH));
    }
    more(estimate.shuffles().size() - shuffles.size(), "shuffles");
    paragraph("", 2, "Why each is no surer, and how it was computed, is in the page (--html) and the JSON.");
  }

  private void more(long more, String things) {
    if (more > 0) {
      line("        and " + Words.count(more) + " more " + things + " (--json has all)");
    }
  }

  /** The two parts that save the most. */
  private static String why(StageEstimate stage) {
    return stage.savedS().entrySet().stream().sorted(Map.Entry.<Part, Double>comparingByValue().reversed()).limit(2)
        .map(part -> part.getKey().title()).reduce((first, second) -> first + ", " + second).orElse("no gain");
  }

  private void settings(Advice advice) {
    boolean first = true;
    for (Map.Entry<String, String> setting : advice.settings().entrySet()) {
      paragraph(first ? "  settings" : "", LABEL, setting.getKey() + "=" + setting.getValue());
      first = false;
    }
    if (!advice.settingsNote().isEmpty()) {
      paragraph("", LABEL, advice.settingsNote());
    }
  }

  private void paragraph(String label, int column, String text) {
    boolean first = true;
    for (String line : Words.lines(text, WIDTH - column)) {
      StringBuilder start = new StringBuilder(first ? label : "");
      while (start.length() < column) {
        start.append(' ');
      }
      line(start + line);
      first = false;
    }
  }

  private void line(String text) {
    out.append(text.replaceAll(" +$", "")).append('\n');
  }
}
