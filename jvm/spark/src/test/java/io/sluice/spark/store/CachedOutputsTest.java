package io.sluice.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The states of cached outputs and how they count against the limits; without any file. */
class CachedOutputsTest {
  private static final long CHARGE = 10;
  private static final File FILE = new File("moved");
  private static final Map<OutputState, Set<OutputState>> ALLOWED = Map.of(
      OutputState.WRITING, Set.of(OutputState.IN_MEMORY, OutputState.REMOVED),
      OutputState.IN_MEMORY, Set.of(OutputState.MOVING, OutputState.REMOVED),
      OutputState.MOVING, Set.of(OutputState.ON_DISK, OutputState.IN_MEMORY, OutputState.REMOVED_WHILE_COPIED),
      OutputState.ON_DISK, Set.of(OutputState.RETURNING, OutputState.REMOVED),
      OutputState.RETURNING, Set.of(OutputState.IN_MEMORY, OutputState.ON_DISK, OutputState.REMOVED_WHILE_COPIED),
      OutputState.REMOVED_WHILE_COPIED, Set.of(OutputState.REMOVED),
      OutputState.REMOVED, Set.of());

  private final CachedOutputs outputs = new CachedOutputs(2 * CHARGE, 3);

  private CachedOutput reserve(int shuffleId) {
    assertTrue(outputs.reserve(shuffleId, CHARGE).granted());
    return new CachedOutput(shuffleId, 1, outputs.nextNumber(), null, CHARGE);
  }

  private CachedOutput commit(int shuffleId) {
    CachedOutput output = reserve(shuffleId);
    assertTrue(outputs.commit(output, CHARGE));
    return output;
  }

  /** Both outputs fit; the third request makes the first output MOVING. */
  private CachedOutput moving() {
    CachedOutput output = commit(1);
    commit(2);
    assertSame(output, outputs.reserve(9, CHARGE).toMove());
    assertEquals(OutputState.MOVING, output.state());
    return output;
  }

  private CachedOutput onDisk() {
    CachedOutput output = moving();
    assertFalse(outputs.moved(output, FILE));
    return output;
  }

  /** Its shuffle is read for the second time, and there is room. */
  private CachedOutput returning() {
    CachedOutput output = onDisk();
    assertFalse(outputs.read(1, 100), "read once is not again and again");
    assertTrue(outputs.read(1, 101));
    assertEquals(new CachedOutputs.Copy(output, false), outputs.nextCopy());
    return output;
  }

  private CachedOutput in(OutputState state) {
    switch (state) {
      case WRITING :
        return reserve(1);
      case IN_MEMORY :
        return commit(1);
      case MOVING :
        return moving();
      case REMOVED_WHILE_COPIED :
        CachedOutput removing = moving();
        assertEquals(List.of(), outputs.removeShuffle(1));
        return removing;
      case ON_DISK :
        return onDisk();
      case RETURNING :
        return returning();
      default :
        CachedOutput removed = reserve(1);
        outputs.abandon(removed);
        return removed;
    }
  }

  @ParameterizedTest
  @EnumSource
  void onlyTheSuccessorsOfAStateMayFollowIt(OutputState state) {
    CachedOutput output = in(state);
    assertEquals(state, output.state());
    for (OutputState next : OutputState.values()) {
      assertEquals(ALLOWED.get(state).contains(next), state.successors().contains(next), state + " to " + next);
      if (!state.successors().contains(next)) {
        assertThrows(IllegalStateException.class, () -> output.become(next));
        assertEquals(state, output.state());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "WRITING")
  void commitAndAbandonInAnyStateButWritingAreErrors(OutputState state) {
    CachedOutput output = in(state);
    long used = outputs.usedBytes();
    assertThrows(IllegalStateException.class, () -> outputs.commit(output, CHARGE));
    assertThrows(IllegalStateException.class, () -> outputs.abandon(output));
    assertEquals(state, output.state());
    assertEquals(used, outputs.usedBytes());
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = {"MOVING", "REMOVED_WHILE_COPIED"})
  void theEndOfAMoveInAStateThatIsNotMovingIsAnError(OutputState state) {
    CachedOutput output = in(state);
    long used = outputs.usedBytes();
    assertThrows(IllegalStateException.class, () -> outputs.moved(output, FILE));
    assertThrows(IllegalStateException.class, () -> outputs.notMoved(output));
    assertEquals(state, output.state());
    assertEquals(used, outputs.usedBytes());
    assertEquals(state == OutputState.ON_DISK || state == OutputState.RETURNING ? FILE : null, output.diskFile());
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = {"RETURNING", "REMOVED_WHILE_COPIED"})
  void theEndOfAReturnInAStateThatIsNotReturningIsAnError(OutputState state) {
    CachedOutput output = in(state);
    long used = outputs.usedBytes();
    assertThrows(IllegalStateException.class, () -> outputs.returned(output));
    assertThrows(IllegalStateException.class, () -> outputs.notReturned(output));
    assertEquals(state, output.state());
    assertEquals(used, outputs.usedBytes());
  }

  @Test
  void anOutputThatComesBackCountsFromTheMomentItIsChosen() {
    CachedOutput output = returning();
    assertEquals(2 * CHARGE, outputs.usedBytes());
    assertFalse(outputs.returned(output));
    assertEquals(OutputState.IN_MEMORY, output.state());
    assertEquals(2 * CHARGE, outputs.usedBytes());
    assertEquals(FILE, output.diskFile(), "its copy stays");
    assertNull(outputs.nextCopy());
  }

  @Test
  void anOutputThatCannotComeBackStaysOnTheDiskAndIsNotTriedAgain() {
    CachedOutput output = returning();
    assertFalse(outputs.notReturned(output));
    assertEquals(OutputState.ON_DISK, output.state());
    assertEquals(CHARGE, outputs.usedBytes());
    assertFalse(outputs.read(1, 102));
    assertNull(outputs.nextCopy());
  }

  /** Whichever way the copy ends, exactly one thread is told to free the output, and until then it counts. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anOutputRemovedWhileItComesBackIsFreedByTheCopyingThreadOnly(boolean copied) {
    CachedOutput output = returning();
    assertEquals(List.of(), outputs.removeOutputs(1, Set.of(1L)));
    assertEquals(OutputState.REMOVED_WHILE_COPIED, output.state());
    assertEquals(List.of(), outputs.removeShuffle(1));
    assertTrue(copied ? outputs.returned(output) : outputs.notReturned(output));
    assertEquals(OutputState.REMOVED, output.state());
    assertEquals(2 * CHARGE, outputs.usedBytes());
    outputs.freed(output);
    assertEquals(CHARGE, outputs.usedBytes());
  }

  /** Both have the same history; only one must be copied. */
  @Test
  void ofEqualOutputsTheOneWithACopyOnTheDiskMovesFirst() {
    CachedOutput withCopy = returning();
    assertFalse(outputs.returned(withCopy));
    outputs.removeShuffle(2).forEach(outputs::freed);
    CachedOutput fresh = reserve(1);
    assertTrue(outputs.commit(fresh, CHARGE));
    assertSame(withCopy, outputs.reserve(9, CHARGE).toMove());
  }

  @Test
  void whatIsReadAgainAndAgainOutlivesWhatWasReadOnce() {
    CachedOutput links = commit(1);
    outputs.read(1, 100);
    outputs.read(1, 101);
    CachedOutput once = commit(2);
    outputs.read(2, 101);
    assertSame(once, outputs.reserve(9, CHARGE).toMove(), "the younger shuffle");
    assertEquals(OutputState.IN_MEMORY, links.state());
  }

  @Test
  void tasksOfTheSameStageAreOnePass() {
    onDisk();
    for (int task = 0; task < 5; task++) {
      assertFalse(outputs.read(1, 100));
    }
    assertNull(outputs.nextCopy());
  }

  /** An output on the disk displaces one that is not read any more, but not one that is wanted as much. */
  @Test
  void whatComesBackDisplacesOnlyWhatIsWantedLess() {
    CachedOutput links = onDisk();
    CachedOutput used = reserve(2);
    assertTrue(outputs.commit(used, CHARGE));
    assertEquals(2 * CHARGE, outputs.usedBytes());
    for (long stage = 100; stage < 103; stage++) {
      outputs.read(1, stage);
      outputs.read(2, stage);
    }
    assertNull(outputs.nextCopy(), "both shuffles are read alike");
    for (long stage = 103; stage < 120; stage++) {
      outputs.read(1, stage);
    }
    CachedOutputs.Copy first = outputs.nextCopy();
    assertTrue(first.toDisk(), "2 is overdue");
    assertFalse(outputs.moved(first.output(), new File("2")));
    assertEquals(new CachedOutputs.Copy(links, false), outputs.nextCopy());
  }

  @Test
  void aLowerLimitMovesOutputsAndAHigherOneTakesMore() {
    CachedOutput first = commit(1);
    CachedOutput second = commit(2);
    outputs.setLimitBytes(CHARGE);
    assertFalse(outputs.reserve(3, 0).granted(), "more is in memory than may be");
    assertEquals(new CachedOutputs.Copy(first, true), outputs.nextCopy());
    assertFalse(outputs.moved(first, FILE));
    assertNull(outputs.nextCopy());
    assertFalse(outputs.reserve(3, 2 * CHARGE).granted(), "larger than the limit");
    assertSame(second, outputs.reserve(3, CHARGE).toMove());
    assertFalse(outputs.moved(second, new File("2")));
    outputs.setLimitBytes(0);
    assertFalse(outputs.reserve(3, 1).granted());
    outputs.setLimitBytes(3 * CHARGE);
    outputs.read(1, 100);
    outputs.read(1, 101);
    assertEquals(new CachedOutputs.Copy(first, false), outputs.nextCopy());
  }

  @Test
  void freeingAnOutputThatIsNotRemovedIsAnError() {
    CachedOutput output = commit(1);
    assertThrows(IllegalStateException.class, () -> outputs.freed(output));
    assertEquals(CHARGE, outputs.usedBytes());
  }

  @Test
  void aMoveFreesTheBytesButNotTheDescriptor() {
    CachedOutput output = moving();
    assertEquals(2 * CHARGE, outputs.usedBytes());
    assertFalse(outputs.moved(output, FILE));
    assertEquals(CHARGE, outputs.usedBytes());
    assertTrue(outputs.reserve(9, CHARGE).granted());
    outputs.cancelReservation(CHARGE);
    assertTrue(outputs.reserve(9, CHARGE).granted());
    assertFalse(outputs.reserve(9, 0).granted(), "three descriptors are the limit");
    outputs.removeShuffle(1).forEach(outputs::freed);
    assertTrue(outputs.reserve(9, 0).granted());
  }

  @Test
  void afterAFailedMoveTheOutputCanBeMovedAgain() {
    CachedOutput output = moving();
    assertFalse(outputs.notMoved(output));
    assertEquals(OutputState.IN_MEMORY, output.state());
    assertSame(output, outputs.reserve(9, CHARGE).toMove());
  }

  /** Whichever way the copy ends, exactly one thread is told to free the output, and until then it counts. */
  @Test
  void anOutputRemovedWhileItMovesIsFreedByTheMovingThreadOnly() {
    for (boolean copied : new boolean[] {true, false}) {
      CachedOutputs cache = new CachedOutputs(CHARGE, 3);
      assertTrue(cache.reserve(1, CHARGE).granted());
      CachedOutput output = new CachedOutput(1, 1, 1, null, CHARGE);
      cache.commit(output, CHARGE);
      assertSame(output, cache.reserve(1, CHARGE).toMove());
      assertEquals(List.of(), cache.removeShuffle(1));
      assertEquals(List.of(), cache.close());
      assertTrue(copied ? cache.moved(output, FILE) : cache.notMoved(output));
      assertEquals(OutputState.REMOVED, output.state());
      assertEquals(CHARGE, cache.usedBytes());
      cache.freed(output);
      assertEquals(0, cache.usedBytes());
    }
  }

  @Test
  void anOutputBeingWrittenIsNeitherMovedNorRemoved() {
    CachedOutput output = reserve(1);
    reserve(1);
    CachedOutputs.Room room = outputs.reserve(9, CHARGE);
    assertFalse(room.granted());
    assertNull(room.toMove());
    assertEquals(List.of(), outputs.removeShuffle(1));
    assertEquals(OutputState.WRITING, output.state());
  }

  /** A task may go on after its shuffle has been removed, and nothing would free what it commits. */
  @Test
  void anOutputOfARemovedShuffleIsNotCommitted() {
    CachedOutput writing = reserve(1);
    outputs.removeShuffle(1);
    assertFalse(outputs.commit(writing, CHARGE));
    outputs.abandon(writing);
    outputs.freed(writing);
    assertFalse(outputs.reserve(1, CHARGE).granted(), "later outputs of it go to files");
    assertEquals(0, outputs.usedBytes());
    commit(2);
  }

  @Test
  void aClosedCacheRefusesReservationsAndCommits() {
    CachedOutput writing = reserve(1);
    CachedOutput committed = commit(1);
    assertEquals(List.of(committed), outputs.close());
    assertEquals(List.of(), outputs.close());
    assertFalse(outputs.reserve(9, 0).granted());
    assertFalse(outputs.commit(writing, CHARGE));
    outputs.abandon(writing);
    assertEquals(OutputState.REMOVED, writing.state());
  }
}
