package io.sluice.doctor.report;

import java.util.ArrayList;
import java.util.List;

/** Breaks text at spaces so that lines fit. */
final class Wrapping {
  private Wrapping() {}

  /** Lines of at most {@code width} characters; a longer word has a line of its own. */
  static List<String> lines(String text, int width) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.strip().split("\\s+")) {
      if (!line.isEmpty() && line.length() + 1 + word.length() > width) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    lines.add(line.toString());
    return lines;
  }
}
