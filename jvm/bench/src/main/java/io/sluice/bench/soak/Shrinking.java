package io.sluice.bench.soak;

import io.sluice.bench.check.Digest;
import io.sluice.bench.run.EngineFailure;
import io.sluice.bench.workload.Sizing;
import java.util.function.BooleanSupplier;

/**
 * Looks for the shortest program with the smallest input that goes wrong without any fault, or else with the fault. It
 * looks no further when a program takes too long, because an application was ended then.
 */
final class Shrinking {

  /** So often a program is run with the fault until it counts as right: the fault may come too late, or hit nothing. */
  private static final int TRIES = 5;

  /** Runs a program on one engine. */
  interface Run {
    /** Its result's digest, or an {@link EngineFailure}. */
    Digest digest(SoakProgram program, Sizing sizing);
  }

  private interface Check {
    boolean isWrong(SoakProgram program, Sizing sizing);
  }

  private final Run stock;
  private final Run sluice;
  private final Run harmed;
  private final boolean mayFail;
  private final BooleanSupplier ended;
  private boolean over;

  /**
   * @param harmed runs on Sluice while the fault is done
   * @param mayFail whether a program may fail of the fault, so that only another result is wrong
   * @param ended whether the last run was ended because it took too long
   */
  Shrinking(Run stock, Run sluice, Run harmed, boolean mayFail, BooleanSupplier ended) {
    this.stock = stock;
    this.sluice = sluice;
    this.harmed = harmed;
    this.mayFail = mayFail;
    this.ended = ended;
  }

  /** What was found about {@code program}, which has gone wrong, with a listing of it. */
  String report(SoakProgram program, Sizing sizing) {
    if (isWrong(program, sizing)) {
      return "It goes wrong without a fault too. " + shortest(this::isWrong, program, sizing);
    }
    if (!over && isWrongWithFault(program, sizing)) {
      return "It goes right without the fault, and wrong with it again. "
          + shortest(this::isWrongWithFault, program, sizing);
    }
    return (over ? "Stock did not answer in time when it was run again without a fault. It was:\n"
        : "It goes right when it is run again without a fault, and " + TRIES + " times with it. It was:\n")
        + program.listing(sizing.rows());
  }

  private String shortest(Check check, SoakProgram program, Sizing sizing) {
    SoakProgram shortest = program;
    while (!over && shortest.steps() > 0 && check.isWrong(shortest.shorter(), sizing)) {
      shortest = shortest.shorter();
    }
    Sizing smallest = sizing;
    while (!over && smallest.rows() > 1 && check.isWrong(shortest, half(smallest))) {
      smallest = half(smallest);
    }
    return "The shortest such program" + (over ? " until one took too long" : "") + ", " + shortest.name() + " of "
        + smallest.rows() + " rows:\n" + shortest.listing(smallest.rows());
  }

  private static Sizing half(Sizing sizing) {
    return new Sizing(sizing.rows() / 2, sizing.maps(), sizing.partitions());
  }

  private boolean isWrong(SoakProgram program, Sizing size) {
    Digest expected = expected(program, size);
    return expected != null && differs(sluice, true, expected, program, size);
  }

  private boolean isWrongWithFault(SoakProgram program, Sizing size) {
    Digest expected = expected(program, size);
    for (int i = 0; i < TRIES && expected != null && !over; i++) {
      if (differs(harmed, !mayFail, expected, program, size)) {
        return true;
      }
    }
    return false;
  }

  /** Stock's result; null if it has none, so that nothing can be compared. */
  private Digest expected(SoakProgram program, Sizing size) {
    try {
      return stock.digest(program, size);
    } catch (EngineFailure e) {
      over = ended.getAsBoolean();
      return null;
    }
  }

  private boolean differs(Run run, boolean failureCounts, Digest expected, SoakProgram program, Sizing size) {
    try {
      return !run.digest(program, size).equals(expected);
    } catch (EngineFailure e) {
      over = ended.getAsBoolean();
      return over || failureCounts;
    }
  }
}
