package io.sluice.bench.soak;

import io.sluice.bench.check.Digest;
import io.sluice.bench.run.Application;
import io.sluice.bench.run.EngineFailure;
import io.sluice.bench.workload.Sizing;

/** Looks for the shortest program with the smallest input that goes wrong without any fault. */
final class Shrinking {

  private final Application stock;
  private final Application sluice;
  private final Sizing sizing;

  Shrinking(Application stock, Application sluice, Sizing sizing) {
    this.stock = stock;
    this.sluice = sluice;
    this.sizing = sizing;
  }

  /** What was found, with a listing of it. */
  String report(SoakProgram program) {
    if (!isWrong(program, sizing)) {
      return "It goes right when it is run again without a fault. It was:\n" + program.listing(sizing.rows());
    }
    SoakProgram shortest = program;
    while (shortest.steps() > 0 && isWrong(shortest.shorter(), sizing)) {
      shortest = shortest.shorter();
    }
    Sizing smallest = sizing;
    while (smallest.rows() > 1 && isWrong(shortest, half(smallest))) {
      smallest = half(smallest);
    }
    return "It goes wrong without a fault too. The shortest such program, " + shortest.name() + " of " + smallest.rows()
        + " rows:\n" + shortest.listing(smallest.rows());
  }

  private static Sizing half(Sizing sizing) {
    return new Sizing(sizing.rows() / 2, sizing.maps(), sizing.partitions());
  }

  private boolean isWrong(SoakProgram program, Sizing size) {
    Digest expected;
    try {
      expected = stock.verify(program.name(), size, progress -> {});
    } catch (EngineFailure e) {
      // Not comparable, so not the same fault.
      return false;
    }
    try {
      return !sluice.verify(program.name(), size, progress -> {}).equals(expected);
    } catch (EngineFailure e) {
      return true;
    }
  }
}
