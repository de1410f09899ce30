package io.sluice.spark.store;

import java.util.EnumSet;
import java.util.Set;

/**
 * The state of a {@link CachedOutput}. {@link CachedOutputs} holds the lock under which it changes.
 *
 * <pre>
 *   WRITING    ── committed ──▶ IN_MEMORY                ── abandoned ──▶ REMOVED
 *   IN_MEMORY  ── chosen ─────▶ MOVING                   ── shuffle removed ──▶ REMOVED
 *   MOVING     ── copied ─────▶ ON_DISK                  ── the copy failed ──▶ IN_MEMORY
 *   ON_DISK    ── chosen ─────▶ RETURNING                ── shuffle removed ──▶ REMOVED
 *   RETURNING  ── copied ─────▶ IN_MEMORY                ── the copy failed ──▶ ON_DISK
 *   MOVING, RETURNING ── shuffle removed ──▶ REMOVED_WHILE_COPIED ── the copy ended ──▶ REMOVED
 * </pre>
 */
enum OutputState {
  /** The map task that reserved it writes it; no other thread may move or free it. */
  WRITING,
  /** Committed; its bytes are in memory. */
  IN_MEMORY,
  /** Committed; one thread copies its bytes to a file. Readers find the bytes in memory. */
  MOVING,
  /** Committed; its bytes are in a file on the disk, and its descriptor refers to that file. */
  ON_DISK,
  /** Committed; one thread copies its bytes from the file to memory. Readers find the bytes in the file. */
  RETURNING,
  /**
   * Its shuffle was removed while a thread copied the bytes, to the disk or back. That thread frees the output when the
   * copy ends.
   */
  REMOVED_WHILE_COPIED,
  /** Final: the thread that made this change deletes the link and the file and closes the descriptor. */
  REMOVED;

  /** The states that may follow this one. */
  Set<OutputState> successors() {
    return switch (this) {
      case WRITING -> EnumSet.of(IN_MEMORY, REMOVED);
      case IN_MEMORY -> EnumSet.of(MOVING, REMOVED);
      case MOVING -> EnumSet.of(ON_DISK, IN_MEMORY, REMOVED_WHILE_COPIED);
      case ON_DISK -> EnumSet.of(RETURNING, REMOVED);
      case RETURNING -> EnumSet.of(IN_MEMORY, ON_DISK, REMOVED_WHILE_COPIED);
      case REMOVED_WHILE_COPIED -> EnumSet.of(REMOVED);
      case REMOVED -> EnumSet.noneOf(OutputState.class);
    };
  }
}
