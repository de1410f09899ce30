package io.sluice.advisor.estimate;

import java.util.Locale;

/**
 * CPU time of a stage that is saved for one reason: an amount, times a constant of {@link Costs}, times the part of it
 * that small blocks or unknown records leave.
 *
 * @param part what is saved
 * @param writes whether it is saved by writing the stage's shuffle; otherwise by what is done with what it reads
 * @param amount of {@code things}
 * @param things with their unit, such as {@code rows written}; where {@code nanosEach} is a second, what is left of
 *          seconds, such as {@code 90 % of the sort time}
 * @param nanosEach of one of them
 * @param kept from 0 to 1
 */
public record Saving(Part part, boolean writes, double amount, String things, double nanosEach, double kept) {
  static final double SECOND_NS = 1e9;
  private static final double ALL = 0.995;

  double seconds() {
    return amount * nanosEach * kept / SECOND_NS;
  }

  /** As a term of a sum: {@code writing: 5,000,000 rows written at 95 ns = 0.48 s}. */
  String text() {
    String of = nanosEach == SECOND_NS ? things
        : String.format(Locale.ROOT, "%,.0f %s at %s ns", amount, things, nanos(nanosEach));
    String left = kept < ALL ? String.format(Locale.ROOT, ", of which %.0f %% are left", 100 * kept) : "";
    return String.format(Locale.ROOT, "%s: %s%s = %.2f s", part.title(), of, left, seconds());
  }

  private static String nanos(double nanos) {
    return String.format(Locale.ROOT, nanos == Math.rint(nanos) ? "%.0f" : "%.1f", nanos);
  }
}
