package io.sluice.advisor.report;

import io.sluice.advisor.estimate.Advice;
import io.sluice.advisor.estimate.ApplicationEstimate;
import io.sluice.advisor.estimate.Part;
import io.sluice.advisor.estimate.ShuffleEstimate;
import io.sluice.advisor.estimate.ShuffleKind;
import io.sluice.advisor.estimate.StageEstimate;
import io.sluice.advisor.model.TaskFigure;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The report as one page, for people who have never heard of Sluice. It refers to nothing outside itself and has no
 * script; every text that comes out of a log is escaped.
 */
public final class HtmlReport {
  /** Rows of a table of stages; a page with all of a large application would be of no use. */
  private static final int STAGES = 100;

  /** Titles of columns whose cells are text. */
  private static final Set<String> NAMES = Set.of("application", "part", "because", "name", "what it does", "saved by",
      "how sure", "read by stages", "moves");

  private final StringBuilder out = new StringBuilder();

  private HtmlReport() {}

  public static String render(AdviceReport report) {
    HtmlReport page = new HtmlReport();
    page.head(report);
    if (report.applications().size() > 1) {
      page.overview(report.applications());
    }
    for (int i = 0; i < report.applications().size(); i++) {
      page.application(report.applications().get(i), i);
    }
    page.problems(report.problems());
    page.explanation();
    page.out.append("</body>\n</html>\n");
    return page.out.toString();
  }

  private void head(AdviceReport report) {
    out.append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .append("<title>What Sluice would save</title>\n<style>\n").append(style())
        .append("</style>\n</head>\n<body>\n")
        .append("<h1>What Sluice would save</h1>\n");
    paragraph("", "Sluice is a shuffle for Apache Spark. A shuffle is what Spark does between the stages of a job: "
        + "it sorts rows by partition, writes them to files, moves them between machines and reads them again. Sluice "
        + "does the same with less processor time and fewer bytes; it is one jar and two settings. Jobs stay as they "
        + "are.");
    paragraph("", "This page says, from the event logs that Spark wrote while your applications ran, how much of their "
        + "time that is. It is an estimate; how sure it is, and why it is not surer, is said with each application.");
    paragraph("weak", "Made by Sluice " + report.version() + ".");
  }

  private void overview(List<ApplicationEstimate> applications) {
    out.append("<h2>All applications</h2>\n<div class=\"scroll\"><table>\n");
    header("application", "took", "with Sluice", "times as fast", "how sure");
    for (int i = 0; i < applications.size(); i++) {
      ApplicationEstimate estimate = applications.get(i);
      boolean known = !estimate.onSluice();
      out.append("<tr><td class=\"name\"><a href=\"#a").append(i).append("\">")
          .append(escaped(AdviceReport.title(estimate))).append("</a></td>");
      cell(Words.time(estimate.beforeS()));
      cell(known ? Words.time(estimate.afterS()) : "");
      cell(known ? Words.times(estimate.speedup()) : "");
      opening(known ? estimate.confidence().level().word() : "on Sluice already", List.of());
      out.append("</tr>\n");
    }
    out.append("</table></div>\n");
  }

  private void application(ApplicationEstimate estimate, int number) {
    Advice advice = Advice.of(estimate);
    out.append("<h2 id=\"a").append(number).append("\">").append(escaped(AdviceReport.title(estimate)))
        .append("</h2>\n");
    paragraph("weak", AdviceReport.where(estimate) + "; log: " + estimate.application().log());
    paragraph("verdict", advice.verdict());
    if (!estimate.onSluice()) {
      prediction(estimate);
    }
    list("What Sluice does not make faster here", advice.noGain());
    settings(advice);
    if (!estimate.onSluice()) {
      stages(estimate);
      shuffles(estimate);
    }
  }

  private void prediction(ApplicationEstimate estimate) {
    double longest = Math.max(1e-9, Math.max(estimate.beforeS(), estimate.afterS()));
    out.append("<div class=\"bar\">\n");
    bar("as it was", "before", estimate.beforeS(), longest);
    bar("with Sluice", "after", estimate.afterS(), longest);
    out.append("</div>\n");
    paragraph("", Words.times(estimate.speedup()) + " times as fast; likely between "
        + Words.times(estimate.lowestSpeedup()) + " and " + Words.times(estimate.highestSpeedup()) + ". Tasks would "
        + "run " + Words.time(estimate.taskS() - estimate.savedS(null)) + " instead of " + Words.time(estimate.taskS())
        + ", added over all; shuffles would have " + Words.bytes(estimate.bytesAfter()) + " instead of "
        + Words.bytes(estimate.bytesBefore()) + ".");
    parts(estimate);
    list("How sure this is: " + estimate.confidence().level().word(), estimate.confidence().doubts());
  }

  private void bar(String label, String style, double seconds, double longest) {
    out.append("<span>").append(label).append("</span><div><div class=\"").append(style).append("\" style=\"width: ")
        .append(String.format(Locale.ROOT, "%.1f", 88 * seconds / longest)).append("%\"></div>")
        .append(escaped(Words.time(seconds))).append("</div>\n");
  }

  private void parts(ApplicationEstimate estimate) {
    if (estimate.savedS(null) <= 0) {
      return;
    }
    out.append("<h3>Where task time is saved</h3>\n<div class=\"scroll\"><table>\n");
    header("part", "saved", "of all task time", "because");
    for (Part part : Part.values()) {
      double saved = estimate.savedS(part);
      if (saved > 0) {
        out.append("<tr><td class=\"name\">").append(escaped(part.title())).append("</td>");
        cell(Words.time(saved));
        cell(Words.percent(saved / Math.max(1e-9, estimate.taskS())));
        out.append("<td class=\"name\">").append(escaped(part.reason())).append("</td></tr>\n");
      }
    }
    out.append("</table></div>\n");
  }

  private void settings(Advice advice) {
    if (advice.settings().isEmpty()) {
      return;
    }
    out.append("<h3>To try it</h3>\n<pre>");
    for (Map.Entry<String, String> setting : advice.settings().entrySet()) {
      out.append("--conf ").append(escaped(setting.getKey() + "=" + setting.getValue())).append('\n');
    }
    out.append("</pre>\n");
    if (!advice.settingsNote().isEmpty()) {
      paragraph("", advice.settingsNote());
    }
  }

  private void stages(ApplicationEstimate estimate) {
    List<StageEstimate> stages = AdviceReport.stages(estimate, STAGES);
    if (stages.isEmpty()) {
      return;
    }
    out.append("<details").append(stages.size() <= STAGES / 10 ? " open" : "")
        .append("><summary>Stages with shuffles</summary>\n<div class=\"scroll\"><table>\n");
    header("stage", "name", "what it does", "tasks", "task time", "with Sluice", "records written", "bytes written",
        "with Sluice", "saved by", "how sure");
    for (StageEstimate stage : stages) {
      stage(stage);
    }
    out.append("</table></div>\n");
    long all = estimate.stages().stream().filter(StageEstimate::shuffles).count();
    if (all > stages.size()) {
      paragraph("weak", "The first " + stages.size() + " of " + all + ", by what they save.");
    }
    out.append("</details>\n");
  }

  private void stage(StageEstimate each) {
    long bytes = each.stage().totals().sum(TaskFigure.WRITTEN_BYTES);
    out.append("<tr>");
    cell(Integer.toString(each.stage().id()));
    out.append("<td class=\"name\">").append(escaped(each.stage().name())).append("</td><td class=\"name\">")
        .append(escaped(AdviceReport.does(each))).append("</td>");
    cell(Words.count(each.stage().totals().tasks()));
    cell(Words.time(each.stage().totals().runS()));
    cell(Words.time(each.runS()));
    cell(bytes > 0 ? Words.count(each.stage().totals().sum(TaskFigure.WRITTEN_RECORDS)) : "");
    cell(bytes > 0 ? Words.bytes(bytes) : "");
    cell(bytes > 0 ? Words.bytes(each.bytesWritten()) : "");
    StringBuilder saved = new StringBuilder();
    each.savedS().forEach((part, seconds) -> saved.append(saved.length() == 0 ? "" : ", ").append(part.title())
        .append(' ').append(Words.time(seconds)));
    opening(saved.length() == 0 ? "no gain" : saved.toString(), each.reasons());
    opening(each.confidence().level().word(), each.confidence().doubts());
    out.append("</tr>\n");
  }

  private void shuffles(ApplicationEstimate estimate) {
    List<ShuffleEstimate> shuffles = AdviceReport.shuffles(estimate, STAGES);
    if (shuffles.isEmpty()) {
      return;
    }
    out.append("<details").append(shuffles.size() <= STAGES / 10 ? " open" : "")
        .append("><summary>Shuffles</summary>\n");
    paragraph("", "What is saved where a shuffle is written, and where its blocks are read, sorted and combined. Of a "
        + "stage that reads several shuffles, each has the part that goes with its bytes.");
    out.append("<div class=\"scroll\"><table>\n");
    header("written by stage", "read by stages", "moves", "partitions", "bytes", "with Sluice", "saved writing",
        "saved reading", "how sure");
    for (ShuffleEstimate shuffle : shuffles) {
      shuffle(shuffle);
    }
    out.append("</table></div>\n");
    if (estimate.shuffles().size() > shuffles.size()) {
      paragraph("weak", "The first " + shuffles.size() + " of " + estimate.shuffles().size() + ", by what they save.");
    }
    out.append("</details>\n");
  }

  private void shuffle(ShuffleEstimate shuffle) {
    StageEstimate writer = shuffle.writer();
    out.append("<tr>");
    cell(Integer.toString(writer.stage().id()));
    out.append("<td class=\"name\">").append(escaped(AdviceReport.readers(shuffle)))
        .append("</td><td class=\"name\">").append(escaped(writer.written().map(ShuffleKind::title).orElse("")))
        .append("</td>");
    cell(writer.partitions() > 0 ? Words.count(writer.partitions()) : "");
    cell(Words.bytes(writer.stage().totals().sum(TaskFigure.WRITTEN_BYTES)));
    cell(Words.bytes(writer.bytesWritten()));
    cell(Words.time(shuffle.savedWritingS()));
    cell(Words.time(shuffle.savedInAllS() - shuffle.savedWritingS()));
    opening(shuffle.confidence().level().word(), shuffle.confidence().doubts());
    out.append("</tr>\n");
  }

  /** A cell of a table that opens to sentences; without any, its text alone. */
  private void opening(String text, List<String> sentences) {
    out.append("<td class=\"name\">");
    if (sentences.isEmpty()) {
      out.append(escaped(text));
    } else {
      out.append("<details><summary>").append(escaped(text)).append("</summary><ul>");
      sentences.forEach(sentence -> out.append("<li>").append(escaped(sentence)).append("</li>"));
      out.append("</ul></details>");
    }
    out.append("</td>");
  }

  private void problems(List<String> problems) {
    if (!problems.isEmpty()) {
      out.append("<h2>What could not be read</h2>\n");
      list("", problems);
    }
  }

  private void explanation() {
    out.append("<h2>How this is computed</h2>\n");
    paragraph("", "For each stage, the log has the CPU time of its tasks, the rows and bytes that they wrote to "
        + "shuffles and read from them, the time of sorts, of garbage collection and of waiting. Sluice's saving is a "
        + "constant for each row and each byte, measured on both engines with Sluice's own benchmarks; it is never "
        + "more than a part of the CPU that the stage took. Collection and waiting shrink with it.");
    paragraph("",
        "A stage's cell 'saved by' opens to the terms of its sum, and 'how sure' to the reasons why a stage or "
            + "a shuffle is no surer; what is unsure about a whole log is said with its application and counts for "
            + "each of its stages too.");
    paragraph("", "The time by the clock follows: while stages ran, it shrinks as their task time does; while none "
        + "ran, it stays. Your processors may be faster or slower than the one on which the constants were measured, "
        + "and your rows larger or smaller: that is why a range is given. To know, run the job twice.");
  }

  private void header(String... titles) {
    out.append("<tr>");
    for (String title : titles) {
      boolean name = NAMES.contains(title);
      out.append(name ? "<th class=\"name\">" : "<th>").append(escaped(title)).append("</th>");
    }
    out.append("</tr>\n");
  }

  private void cell(String text) {
    out.append("<td>").append(escaped(text)).append("</td>");
  }

  private void paragraph(String style, String text) {
    out.append(style.isEmpty() ? "<p>" : "<p class=\"" + style + "\">").append(escaped(text)).append("</p>\n");
  }

  private void list(String title, List<String> sentences) {
    if (!title.isEmpty() && (!sentences.isEmpty() || title.contains(":"))) {
      out.append("<h3>").append(escaped(title)).append("</h3>\n");
    }
    if (!sentences.isEmpty()) {
      out.append("<ul>\n");
      sentences.forEach(sentence -> out.append("<li>").append(escaped(sentence)).append("</li>\n"));
      out.append("</ul>\n");
    }
  }

  /** {@code text} as content of an element or a quoted attribute. */
  static String escaped(String text) {
    StringBuilder escaped = new StringBuilder(text.length() + 16);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '&' -> escaped.append("&amp;");
        case '<' -> escaped.append("&lt;");
        case '>' -> escaped.append("&gt;");
        case '"' -> escaped.append("&quot;");
        case '\'' -> escaped.append("&#39;");
        default -> escaped.append(c);
      }
    }
    return escaped.toString();
  }

  private static String style() {
    try (InputStream css = HtmlReport.class.getResourceAsStream("advice.css")) {
      return new String(css.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("advice.css cannot be read from the jar", e);
    }
  }
}
