package io.sluice.spark.store;

import java.util.EnumSet;
import java.util.Set;

/**
 * The state of a {@link CachedOutput}. {@link CachedOutputs} holds the lock under which it changes.
 *
 * <pre>
 *             committed              chosen to be moved            copied
 *   WRITING ------------> IN_MEMORY -------------------> MOVING ----------> ON_DISK
 *      |                      |   ^---------------------- |  |                 |
 *      |                      |        the copy failed       | shuffle removed |
 *      | abandoned            | shuffle removed              v                 | shuffle removed
 *      |                      |                     REMOVED_WHILE_MOVING       |
 *      v                      v                              | copy ended      |
 *   REMOVED <----------------------------------------------------------------- '
 * </pre>
 */
enum OutputState {
  /** The map task that reserved it writes it; no other thread may move or free it. */
  WRITING,
  /** Committed; its bytes are in memory. */
  IN_MEMORY,
  /** Committed; one thread copies its bytes to a file. Readers find the bytes in memory. */
  MOVING,
  /** Its shuffle was removed while a thread copied the bytes. That thread frees the output when the copy ends. */
  REMOVED_WHILE_MOVING,
  /** Committed; its bytes are in a file on the disk, and its descriptor refers to that file. */
  ON_DISK,
  /** Final: the thread that made this change deletes the link and the file and closes the descriptor. */
  REMOVED;

  /** The states that may follow this one. */
  Set<OutputState> successors() {
    return switch (this) {
      case WRITING -> EnumSet.of(IN_MEMORY, REMOVED);
      case IN_MEMORY -> EnumSet.of(MOVING, REMOVED);
      case MOVING -> EnumSet.of(ON_DISK, IN_MEMORY, REMOVED_WHILE_MOVING);
      case REMOVED_WHILE_MOVING, ON_DISK -> EnumSet.of(REMOVED);
      case REMOVED -> EnumSet.noneOf(OutputState.class);
    };
  }
}
