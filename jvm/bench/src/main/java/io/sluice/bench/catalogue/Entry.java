package io.sluice.bench.catalogue;

import io.sluice.bench.workload.Workload;
import java.util.function.Supplier;

/**
 * One workload, as the command line and the reports know it.
 *
 * @param name on the command line
 * @param what what it does, in a few words
 * @param make makes an instance; needs Spark on the class path
 * @param defaultRows its rows (records, words, pages) unless the user gives another number: what keeps Spark's
 *     own shuffle busy for about 10 to 30 seconds on two cores
 * @param rowBytes about how many bytes of input a row is, for throughputs
 * @param start in what state the application is when a run begins
 * @param floor how many times as fast as stock Sluice has to be at least; 0 where no shuffle is measured
 */
public record Entry(String name, String what, Supplier<Workload> make, long defaultRows, int rowBytes, Start start,
    double floor) {

  /** The state of an application when a run begins. */
  public enum Start {
    /** It has run the job before, so that the JVMs have compiled it. */
    WARM,
    /** Spark has just come up; the run is the application's first job. */
    FRESH
  }

  /** Whether it is a query of TPC-H, which reads tables that were made before. */
  public boolean readsTables() {
    return Catalogue.isTpch(name);
  }

  /** Whether every run gets an application of its own. */
  public boolean fresh() {
    return start == Start.FRESH;
  }
}
