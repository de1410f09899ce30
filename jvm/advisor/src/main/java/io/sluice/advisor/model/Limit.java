package io.sluice.advisor.model;

import java.util.Locale;

/**
 * How much of one log is kept, so that memory is bounded whatever a log names: at all limits at once, about half a
 * gigabyte. What is beyond a limit is left out, and the application says so.
 */
public enum Limit {
  STAGES(200_000, "stages", "the last ones are missing"),
  /** Parents of stages and of RDDs that read shuffles, of all stages together. */
  PARENTS(1_000_000, "parents of stages", "of some shuffles it is not known what reads them"),
  NAMES(100_000, "names of stages and operations", "some stages have none"),
  /** Running and ended ones. */
  JOBS(200_000, "jobs", "the last ones are missing"),
  /** Queries that run at once; a log without ends of queries would fill the memory. */
  QUERIES(100_000, "queries at once", "of some it is not known how their exchanges partition"),
  /** Accumulators of exchanges of the queries that run at once. */
  EXCHANGES(500_000, "exchanges in queries at once", "of some it is not known how they partition"),
  EXECUTORS(100_000, "executors at once", "the number of cores is too small");

  private final int most;
  private final String things;
  private final String consequence;

  Limit(int most, String things, String consequence) {
    this.most = most;
    this.things = things;
    this.consequence = consequence;
  }

  public int most() {
    return most;
  }

  /** What a reader of the report is told when something was left out, a sentence. */
  public String sentence() {
    return String.format(Locale.ROOT, "There are more %s than the %,d that are kept: %s.", things, most, consequence);
  }
}
