package io.sluice.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.run.EngineFailure;
import io.sluice.bench.workload.Sizing;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ShrinkingTest {

  private static final SoakProgram PROGRAM = new SoakProgram(true, 3, 5);
  private static final Sizing SIZING = new Sizing(8, 1, 0);
  private static final Digest RIGHT = new Digest(1, 2, 3, true);
  private static final Digest WRONG = new Digest(1, 2, 4, true);

  private final List<String> runs = new ArrayList<>();
  private boolean ended;

  private Digest stock(SoakProgram program, Sizing sizing) {
    return RIGHT;
  }

  private Digest hangs() {
    ended = true;
    throw new EngineFailure("the driver has ended");
  }

  private String report(Shrinking.Run sluice) {
    return new Shrinking(this::stock, noted(sluice), this::stock, false, () -> ended).report(PROGRAM, SIZING);
  }

  private String report(Shrinking.Run harmed, boolean mayFail) {
    return new Shrinking(this::stock, this::stock, noted(harmed), mayFail, () -> ended).report(PROGRAM, SIZING);
  }

  private Shrinking.Run noted(Shrinking.Run run) {
    return (program, sizing) -> {
      runs.add(program.steps() + "/" + sizing.rows());
      return run.digest(program, sizing);
    };
  }

  @Test
  void theShortestProgramWithTheSmallestInputIsFound() {
    String report = report((program, sizing) -> program.steps() >= 3 && sizing.rows() >= 4 ? WRONG : RIGHT);
    assertTrue(report.contains("The shortest such program, soak-sql-3-3 of 4 rows:\n"), report);
    assertEquals(List.of("5/8", "4/8", "3/8", "2/8", "3/4", "3/2"), runs);
  }

  @Test
  void aProgramThatHangsEndsTheSearch() {
    String report = report((program, sizing) -> program.steps() == 4 ? hangs() : WRONG);
    assertTrue(report.contains("The shortest such program until one took too long, soak-sql-3-4 of 8 rows:\n"), report);
    assertEquals(List.of("5/8", "4/8"), runs);
  }

  @Test
  void stockThatHangsEndsTheSearch() {
    String report = new Shrinking((program, sizing) -> hangs(), (program, sizing) -> WRONG, this::stock, false,
        () -> ended).report(PROGRAM, SIZING);
    assertTrue(report.startsWith("Stock did not answer in time"), report);
  }

  @Test
  void whatGoesRightTheSecondTimeIsSaidSo() {
    assertTrue(report(this::stock).startsWith("It goes right when it is run again"));
  }

  @Test
  void whatGoesWrongWithTheFaultAloneIsShrunkWithIt() {
    String report = report((program, sizing) -> program.steps() >= 4 && runs.size() % 3 == 0 ? WRONG : RIGHT, false);
    assertTrue(report.startsWith("It goes right without the fault, and wrong with it again. The shortest such program, "
        + "soak-sql-3-4 of 1 rows:\n"), report);
    // Every third run is wrong; five right ones in a row mean that the shorter program is right.
    assertEquals(List.of("5/8", "5/8", "5/8", "4/8", "4/8", "4/8", "3/8", "3/8", "3/8", "3/8", "3/8"),
        runs.subList(0, 11));
  }

  @Test
  void aFailureThatIsAllowedIsNotWrong() {
    Shrinking.Run fails = (program, sizing) -> {
      throw new EngineFailure("no space left");
    };
    assertTrue(report(fails, true).startsWith("It goes right when it is run again without a fault, and 5 times with"));
    assertEquals(5, runs.size());
    assertTrue(report(fails, false).startsWith("It goes right without the fault, and wrong with it again."));
  }
}
