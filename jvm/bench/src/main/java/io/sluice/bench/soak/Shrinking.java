package io.sluice.bench.soak;

import io.sluice.bench.check.Digest;
import io.sluice.bench.run.EngineFailure;
import io.sluice.bench.workload.Sizing;
import java.util.function.BooleanSupplier;

/**
 * Looks for the shortest program with the smallest input that goes wrong without any fault. It looks no further when a
 * program takes too long, because an application was ended then.
 */
final class Shrinking {

  /** Runs a program on one engine. */
  interface Run {
    /** Its result's digest, or an {@link EngineFailure}. */
    Digest digest(SoakProgram program, Sizing sizing);
  }

  private final Run stock;
  private final Run sluice;
  private final BooleanSupplier ended;
  private boolean over;

  /** @param ended whether the last run was ended because it took too long */
  Shrinking(Run stock, Run sluice, BooleanSupplier ended) {
    this.stock = stock;
    this.sluice = sluice;
    this.ended = ended;
  }

  /** What was found about {@code program}, which has gone wrong, with a listing of it. */
  String report(SoakProgram program, Sizing sizing) {
    if (!isWrong(program, sizing)) {
      return (over ? "Stock did not answer in time when it was run again without a fault. It was:\n"
          : "It goes right when it is run again without a fault. It was:\n") + program.listing(sizing.rows());
    }
    SoakProgram shortest = program;
    while (!over && shortest.steps() > 0 && isWrong(shortest.shorter(), sizing)) {
      shortest = shortest.shorter();
    }
    Sizing smallest = sizing;
    while (!over && smallest.rows() > 1 && isWrong(shortest, half(smallest))) {
      smallest = half(smallest);
    }
    return "It goes wrong without a fault too. The shortest such program" + (over ? " until one took too long" : "")
        + ", " + shortest.name() + " of " + smallest.rows() + " rows:\n" + shortest.listing(smallest.rows());
  }

  private static Sizing half(Sizing sizing) {
    return new Sizing(sizing.rows() / 2, sizing.maps(), sizing.partitions());
  }

  private boolean isWrong(SoakProgram program, Sizing size) {
    Digest expected;
    try {
      expected = stock.digest(program, size);
    } catch (EngineFailure e) {
      over = ended.getAsBoolean();
      // Not comparable, so not the same fault.
      return false;
    }
    try {
      return !sluice.digest(program, size).equals(expected);
    } catch (EngineFailure e) {
      over = ended.getAsBoolean();
      return true;
    }
  }
}
