package io.sluice.doctor.report;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.mode.ModeVerdict;
import java.util.List;

/** The report for people: groups, one aligned line or more per finding, at last the modes. Plain text, 100 columns. */
public final class TextReport {
  private static final int WIDTH = 100;
  private static final String NEXT = "→ ";
  private static final int VERDICT_COLUMN = 2;
  private static final int TITLE_COLUMN = 11;
  private static final int TEXT_COLUMN = 31;
  private static final int MODE_COLUMN = 18;

  private final StringBuilder out = new StringBuilder();

  private TextReport() {}

  public static String render(Report report) {
    TextReport text = new TextReport();
    text.out.append("Sluice ").append(report.version()).append(" doctor on ").append(report.machine()).append('\n');
    for (Subject.Group group : Subject.Group.values()) {
      text.group(group, report.findings().stream().filter(finding -> finding.subject().group() == group).toList());
    }
    text.out.append("\nModes (spark.sluice.mode)\n");
    report.modes().forEach(text::mode);
    text.summary(report);
    return text.out.toString();
  }

  private void group(Subject.Group group, List<Finding> findings) {
    if (findings.isEmpty()) {
      return;
    }
    out.append('\n').append(group.title()).append('\n');
    for (Finding finding : findings) {
      String label = " ".repeat(VERDICT_COLUMN) + finding.verdict().word();
      label = padded(label, TITLE_COLUMN) + finding.subject().title();
      paragraph(label, TEXT_COLUMN, "", finding.text());
      next(TEXT_COLUMN, finding.next());
    }
  }

  private void mode(ModeVerdict verdict) {
    paragraph(" ".repeat(VERDICT_COLUMN) + verdict.mode().name(), MODE_COLUMN, "", verdict.words());
    paragraph("", MODE_COLUMN, "", "(" + verdict.mode().what() + ")");
    for (ModeVerdict.Reason reason : verdict.reasons()) {
      paragraph("", MODE_COLUMN, "- ", reason.text());
      next(MODE_COLUMN + 2, reason.next());
    }
  }

  private void summary(Report report) {
    String asked = String.join(", ", report.asked().stream().map(Enum::name).toList());
    out.append('\n').append(report.usable() ? "Usable on this machine: " + asked + "."
        : "Not usable on this machine as asked: " + asked + ".").append('\n');
  }

  private void next(int column, String next) {
    if (!next.isEmpty()) {
      paragraph("", column, NEXT, next);
    }
  }

  /**
   * {@code label} in the first line, then the text from {@code column} on; further lines are indented past the mark.
   */
  private void paragraph(String label, int column, String mark, String text) {
    List<String> lines = Wrapping.lines(text, WIDTH - column - mark.length());
    for (int i = 0; i < lines.size(); i++) {
      out.append(padded(i == 0 ? label : "", column)).append(i == 0 ? mark : " ".repeat(mark.length()))
          .append(lines.get(i)).append('\n');
    }
  }

  private static String padded(String text, int column) {
    return text + " ".repeat(Math.max(1, column - text.length()));
  }
}
