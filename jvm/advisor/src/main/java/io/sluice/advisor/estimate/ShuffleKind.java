package io.sluice.advisor.estimate;

/** What a shuffle moves. */
public enum ShuffleKind {
  SQL_ROWS("rows of SQL"),
  RDD_RECORDS("records of an RDD");

  private final String title;

  ShuffleKind(String title) {
    this.title = title;
  }

  public String title() {
    return title;
  }
}
