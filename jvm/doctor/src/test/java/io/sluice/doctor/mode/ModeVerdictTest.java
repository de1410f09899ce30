package io.sluice.doctor.mode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.check.Verdict;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** From findings to the modes' verdicts. */
class ModeVerdictTest {
  @Test
  void everythingInOrderIsReady() {
    for (Mode mode : Mode.values()) {
      assertEquals(State.READY, judge(mode).state(), mode.name());
    }
    assertEquals("ready", judge(Mode.RDMA).words());
  }

  @Test
  void withoutTheLibraryEachModeFallsBackToItsOwn() {
    Finding library = Finding.problem(Subject.NATIVE_LIBRARY, "lost", "find it");
    assertEquals("will fall back to frames in Java, uncompressed and in files",
        judge(Mode.MULTITHREADED, library).words());
    assertEquals("will fall back to Spark's block transfer (Netty)", judge(Mode.RDMA, library).words());
    assertEquals(List.of(new ModeVerdict.Reason("native library: lost", "find it")),
        judge(Mode.MULTITHREADED, library).reasons());
    assertFalse(judge(Mode.RDMA, library).state().usable());
  }

  @Test
  void missingUcxConcernsOnlyOneSidedModes() {
    Finding ucx = Finding.problem(Subject.UCX_LIBRARY, "none", "install");
    for (Mode mode : List.of(Mode.MULTITHREADED, Mode.CACHE_ONLY)) {
      assertEquals(State.READY, judge(mode, ucx).state(), mode.name());
    }
    for (Mode mode : List.of(Mode.UCX, Mode.RDMA)) {
      assertEquals(State.FALLS_BACK, judge(mode, ucx).state(), mode.name());
    }
  }

  @Test
  void machineWithoutRdmaIsReadyWithANote() {
    ModeVerdict verdict = judge(Mode.RDMA, Finding.note(Subject.RDMA_PORT, "no device"));
    assertEquals(State.READY_WITH_NOTES, verdict.state());
    assertTrue(verdict.state().usable());
    assertEquals("RDMA port: no device", verdict.reasons().get(0).text());
  }

  @Test
  void onePortInOrderIsEnough() {
    Finding down = Finding.warning(Subject.RDMA_PORT, "mlx5_1:1 DOWN", "cable");
    assertEquals(State.READY, judge(Mode.RDMA, Finding.ok(Subject.RDMA_PORT, "mlx5_0:1 ACTIVE"), down).state());
    assertEquals(State.READY_WITH_NOTES, judge(Mode.RDMA, down).state());
  }

  @Test
  void oneLocalDirectoryIsEnoughAndTheOtherIsMentioned() {
    Finding bad = Finding.problem(Subject.LOCAL_DIRS, "/b is not there", "mkdir");
    Finding good = Finding.ok(Subject.LOCAL_DIRS, "/a");
    assertEquals(State.NOT_POSSIBLE, judge(Mode.MULTITHREADED, bad).state());
    ModeVerdict verdict = judge(Mode.MULTITHREADED, good, bad);
    assertEquals(State.READY_WITH_NOTES, verdict.state());
    assertEquals(1, verdict.reasons().size());
  }

  @Test
  void reasonsAreSortedBySeverityAndTheWorstDecides() {
    ModeVerdict verdict = judge(Mode.MULTITHREADED, Finding.warning(Subject.HUGE_PAGES, "off", "on"),
        Finding.problem(Subject.SPARK_FRAMES, "encrypted", "do not"),
        Finding.problem(Subject.SPARK_VERSION, "3.1", "3.5"));
    assertEquals("not possible", verdict.words());
    assertEquals(List.of("frames: encrypted", "Spark: 3.1", "huge pages: off"),
        verdict.reasons().stream().map(ModeVerdict.Reason::text).toList());
  }

  @Test
  void modesAreNamedWithoutRegardToCase() {
    assertEquals(Optional.of(Mode.RDMA), Mode.named("rdma"));
    assertEquals(Optional.empty(), Mode.named("fast"));
  }

  /** All subjects in order but for these findings. */
  private static ModeVerdict judge(Mode mode, Finding... findings) {
    List<Finding> all = new ArrayList<>(List.of(findings));
    Arrays.stream(Subject.values()).filter(subject -> all.stream().noneMatch(finding -> finding.subject() == subject))
        .toList().forEach(subject -> all.add(new Finding(subject, Verdict.OK, "fine", "")));
    return ModeVerdict.of(mode, all);
  }
}
