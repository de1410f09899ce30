package io.sluice.bench.check;

/**
 * A column by which a query's result must be sorted.
 *
 * @param name as the result has it
 * @param descending whether large values come first
 */
public record SortColumn(String name, boolean descending) {

  /** {@code name}, small values first. */
  public static SortColumn ascending(String name) {
    return new SortColumn(name, false);
  }
}
