package io.sluice.spark.migration;

import java.util.ArrayList;
import java.util.List;

/** What a translation did, and what is left for a person to do. */
final class Report {
  private int translated;
  private int commentedOut;
  private int left;
  private final List<String> unknown = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

  void translated() {
    translated++;
  }

  void commentedOut() {
    commentedOut++;
  }

  void left() {
    left++;
  }

  /** A setting that begins as a predecessor's do, and that the table does not have; it counts as left alone too. */
  void unknown(int line, String key) {
    unknown.add("line " + line + ": " + key);
  }

  void note(int line, String text) {
    notes.add("line " + line + ": " + text);
  }

  void note(String text) {
    notes.add(text);
  }

  boolean changed() {
    return translated + commentedOut > 0;
  }

  /** For people, with a line end behind each line. */
  String text() {
    StringBuilder text = new StringBuilder(String.format(
        "settings: %d translated, %d commented out, %d left alone, %d of these unknown%n",
        translated, commentedOut, left, unknown.size()));
    unknown.forEach(line -> text.append("unknown: ").append(line).append('\n'));
    notes.forEach(line -> text.append("note: ").append(line).append('\n'));
    return text.toString();
  }
}
