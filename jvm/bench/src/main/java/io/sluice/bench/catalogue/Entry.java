package io.sluice.bench.catalogue;

import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.workload.Workload;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;
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
 * @param partitions shuffle partitions unless the user gives another number; 0 for what the workload prescribes
 * @param settingsOf Spark settings that its applications need with so many rows; those of the user win
 */
public record Entry(String name, String what, Supplier<Workload> make, long defaultRows, int rowBytes, Start start,
    double floor, int partitions, LongFunction<Map<String, String>> settingsOf) {

  private static final double COMPRESSED = 0.6;

  Entry(String name, String what, Supplier<Workload> make, long defaultRows, int rowBytes, Start start, double floor) {
    this(name, what, make, defaultRows, rowBytes, start, floor, 0, rows -> Map.of());
  }

  /** The same work under another name, with other partitions and settings. */
  Entry variant(String variant, String difference, int otherPartitions, Map<String, String> otherSettings) {
    return new Entry(variant, difference, make, defaultRows, rowBytes, start, floor, otherPartitions,
        rows -> otherSettings);
  }

  /** The same with settings that depend on the rows. */
  Entry with(int otherPartitions, LongFunction<Map<String, String>> others) {
    return new Entry(name, what, make, defaultRows, rowBytes, start, floor, otherPartitions, others);
  }

  /** Spark settings that its applications need with {@code rows}; those of the user win. */
  public Map<String, String> settings(long rows) {
    return settingsOf.apply(rows);
  }

  /**
   * About how many bytes the files of one run with {@code rows} take: stock compresses what it shuffles to somewhat
   * more than half, and spills it once more where memory is little.
   */
  public long fileBytes(long rows) {
    return floor == 0 ? 0 : Math.round(rows * rowBytes * COMPRESSED * (settings(rows).isEmpty() ? 1 : 2));
  }

  /** The state of an application when a run begins. */
  public enum Start {
    /** It has run the job before, so that the JVMs have compiled it. */
    WARM,
    /** Spark has just come up; the run is the application's first job. */
    FRESH
  }

  /** The benchmark that it is a query of, whose tables are made before. */
  public Optional<Benchmark> benchmark() {
    return Benchmark.of(name);
  }

  /** Whether every run gets an application of its own. */
  public boolean fresh() {
    return start == Start.FRESH;
  }
}
