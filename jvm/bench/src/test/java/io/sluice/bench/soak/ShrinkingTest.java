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
    return new Shrinking(this::stock, (program, sizing) -> {
      runs.add(program.steps() + "/" + sizing.rows());
      return sluice.digest(program, sizing);
    }, () -> ended).report(PROGRAM, SIZING);
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
    String report = new Shrinking((program, sizing) -> hangs(), (program, sizing) -> WRONG, () -> ended)
        .report(PROGRAM, SIZING);
    assertTrue(report.startsWith("Stock did not answer in time"), report);
  }

  @Test
  void whatGoesRightTheSecondTimeIsSaidSo() {
    assertTrue(report(this::stock).startsWith("It goes right when it is run again"));
  }
}
