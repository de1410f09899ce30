package io.sluice.bench.report;

import io.sluice.bench.run.Engine;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What {@code ./sluice bench --potential} says below its table: what a faster network could give, and Sluice gives. */
public final class PotentialText {

  private PotentialText() {}

  /** One sentence per comparison that has all three engines. */
  public static String render(List<Comparison> comparisons) {
    StringBuilder text = new StringBuilder();
    for (Comparison comparison : comparisons) {
      Optional<Double> bypass = speedup(comparison, Engine.NO_NETWORK);
      Optional<Double> sluice = speedup(comparison, Engine.SLUICE);
      if (bypass.isPresent() && sluice.isPresent()) {
        text.append(String.format(Locale.ROOT,
            "%s: a network that costs nothing would make stock %.2f times as fast; Sluice is %.2f times as fast.%n",
            comparison.label(), bypass.get(), sluice.get()));
      }
    }
    return text.append("Without the network, blocks of the own executor are read again in place of those of "
        + "others: the result is wrong and not compared, and joins may find more pairs.").toString();
  }

  private static Optional<Double> speedup(Comparison comparison, Engine engine) {
    return comparison.on(engine.label()).flatMap(comparison::speedup);
  }
}
