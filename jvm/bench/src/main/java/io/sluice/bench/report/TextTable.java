package io.sluice.bench.report;

import java.util.ArrayList;
import java.util.List;

/** A table in plain text: a header, rules, left-aligned names and right-aligned figures. */
public final class TextTable {

  private final int nameColumns;
  private final List<List<String>> rows = new ArrayList<>();

  /** A table with {@code header}, whose first {@code nameColumns} columns are names. */
  public TextTable(int nameColumns, String... header) {
    this.nameColumns = nameColumns;
    rows.add(List.of(header));
  }

  /** Adds a row of as many cells as the header has. */
  public TextTable row(String... cells) {
    if (cells.length != rows.get(0).size()) {
      throw new IllegalArgumentException(cells.length + " cells for " + rows.get(0).size() + " columns");
    }
    rows.add(List.of(cells));
    return this;
  }

  /** The table, one line per row, without a final line break. */
  public String render() {
    int columns = rows.get(0).size();
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    List<String> lines = new ArrayList<>();
    for (List<String> row : rows) {
      lines.add(line(row, widths));
    }
    lines.add(1, "-".repeat(lines.stream().mapToInt(String::length).max().orElse(0)));
    return String.join("\n", lines);
  }

  private String line(List<String> row, int[] widths) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < widths.length; i++) {
      String padding = " ".repeat(widths[i] - row.get(i).length());
      line.append(i == 0 ? "" : "  ").append(i < nameColumns ? row.get(i) + padding : padding + row.get(i));
    }
    return line.toString().stripTrailing();
  }
}
