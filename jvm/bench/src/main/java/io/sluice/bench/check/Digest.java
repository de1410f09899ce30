package io.sluice.bench.check;

/**
 * What is compared of a result: three figures that do not depend on row order, and whether the order holds.
 *
 * @param rows number of rows
 * @param xor exclusive or of the rows' 64-bit hashes
 * @param sum wrapping sum of the same hashes; catches pairs that cancel out in {@code xor}
 * @param ordered whether the rows came in the order that was asked for; true when none was
 */
public record Digest(long rows, long xor, long sum, boolean ordered) {

  /** The digest as users see it; equal exactly for equal contents (order aside). */
  public String checksum() {
    return String.format("%d:%016x:%016x", rows, xor, sum);
  }
}
