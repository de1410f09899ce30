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

/** The states of cached outputs and how they count against the limits; without any file. */
class CachedOutputsTest {
  private static final long CHARGE = 10;
  private static final File FILE = new File("moved");
  private static final Map<OutputState, Set<OutputState>> ALLOWED = Map.of(
      OutputState.WRITING, Set.of(OutputState.IN_MEMORY, OutputState.REMOVED),
      OutputState.IN_MEMORY, Set.of(OutputState.MOVING, OutputState.REMOVED),
      OutputState.MOVING, Set.of(OutputState.ON_DISK, OutputState.IN_MEMORY, OutputState.REMOVED_WHILE_MOVING),
      OutputState.REMOVED_WHILE_MOVING, Set.of(OutputState.REMOVED),
      OutputState.ON_DISK, Set.of(OutputState.REMOVED),
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

  private CachedOutput in(OutputState state) {
    switch (state) {
      case WRITING :
        return reserve(1);
      case IN_MEMORY :
        return commit(1);
      case MOVING :
        return moving();
      case REMOVED_WHILE_MOVING :
        CachedOutput removing = moving();
        assertEquals(List.of(), outputs.removeShuffle(1));
        return removing;
      case ON_DISK :
        CachedOutput moved = moving();
        assertFalse(outputs.moved(moved, FILE));
        return moved;
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
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = {"MOVING", "REMOVED_WHILE_MOVING"})
  void theEndOfAMoveInAStateThatIsNotMovingIsAnError(OutputState state) {
    CachedOutput output = in(state);
    long used = outputs.usedBytes();
    assertThrows(IllegalStateException.class, () -> outputs.moved(output, FILE));
    assertThrows(IllegalStateException.class, () -> outputs.notMoved(output));
    assertEquals(state, output.state());
    assertEquals(used, outputs.usedBytes());
    assertEquals(state == OutputState.ON_DISK ? FILE : null, output.diskFile());
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
