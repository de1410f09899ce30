package io.sluice.spark.store;

import java.io.File;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * The outputs of one {@link OutputCache}, their states, and how much of its limits they use. Any thread may call any
 * method. Every change of a state happens here, under this object's lock, and no method does I/O: where a file must be
 * copied or freed, the method says so to its caller, and only to one.
 */
final class CachedOutputs {
  /**
   * The answer to a request for memory: granted, refused, or "move this output first and ask again".
   *
   * @param toMove an output in state {@link OutputState#MOVING}, which the caller must copy to the disk; else null
   */
  record Room(boolean granted, CachedOutput toMove) {
    private static final Room GRANTED = new Room(true, null);
    private static final Room REFUSED = new Room(false, null);
  }

  private final long limitBytes;
  private final long limitOutputs;
  /** Outputs that are committed and not removed. */
  private final TreeSet<CachedOutput> committed = new TreeSet<>(CachedOutput.MOVE_ORDER);
  /** Of those, the ones {@link OutputState#IN_MEMORY}. */
  private final TreeSet<CachedOutput> inMemory = new TreeSet<>(CachedOutput.MOVE_ORDER);
  /** By id; Spark gives each id to one shuffle. */
  private final BitSet removedShuffles = new BitSet();
  private long usedBytes;
  /** Granted requests whose output has not been freed: each holds a descriptor, in memory or on the disk. */
  private long descriptors;
  private long lastNumber;
  private boolean closed;

  /**
   * @param limitBytes of all outputs in memory together
   * @param limitOutputs of outputs in memory and on the disk together
   */
  CachedOutputs(long limitBytes, long limitOutputs) {
    this.limitBytes = limitBytes;
    this.limitOutputs = limitOutputs;
  }

  /**
   * Counts {@code charge} bytes and a descriptor against the limits if they fit. If only the bytes do not fit, names
   * the output to move. Refuses outputs of a shuffle that was removed: Spark computes such a shuffle again when it is
   * read again, but nothing says when it is removed again, and files then stay where they are, as Spark's own do.
   */
  synchronized Room reserve(int shuffleId, long charge) {
    if (closed || removedShuffles.get(shuffleId) || charge > limitBytes || descriptors >= limitOutputs) {
      return Room.REFUSED;
    }
    if (usedBytes + charge <= limitBytes) {
      usedBytes += charge;
      descriptors++;
      return Room.GRANTED;
    }
    CachedOutput first = inMemory.pollFirst();
    if (first == null) {
      return Room.REFUSED;
    }
    first.become(OutputState.MOVING);
    return new Room(false, first);
  }

  /** Takes back a granted request for which no output was made. */
  synchronized void cancelReservation(long charge) {
    usedBytes -= charge;
    descriptors--;
  }

  /** A number greater than all before. */
  synchronized long nextNumber() {
    return ++lastNumber;
  }

  /**
   * {@code WRITING → IN_MEMORY}, with the charge for its real size; false, and no change, after {@link #close}, and
   * when the shuffle was removed while the output was written.
   */
  synchronized boolean commit(CachedOutput output, long charge) {
    output.require(OutputState.WRITING);
    if (closed || removedShuffles.get(output.shuffleId())) {
      return false;
    }
    output.become(OutputState.IN_MEMORY);
    usedBytes += charge - output.charge();
    output.setCharge(charge);
    committed.add(output);
    inMemory.add(output);
    return true;
  }

  /** {@code WRITING → REMOVED}; the caller frees the output. */
  synchronized void abandon(CachedOutput output) {
    output.require(OutputState.WRITING);
    output.become(OutputState.REMOVED);
  }

  /**
   * The bytes of an output that was {@link OutputState#MOVING} are in {@code file}.
   *
   * @return whether its shuffle was removed meanwhile: the caller frees the output
   */
  synchronized boolean moved(CachedOutput output, File file) {
    boolean removed = endMove(output, OutputState.ON_DISK);
    output.setDiskFile(file);
    if (removed) {
      return true;
    }
    usedBytes -= output.charge();
    output.setCharge(0);
    return false;
  }

  /**
   * The bytes of an output that was {@link OutputState#MOVING} could not be copied and are still in memory.
   *
   * @return whether its shuffle was removed meanwhile: the caller frees the output
   */
  synchronized boolean notMoved(CachedOutput output) {
    if (endMove(output, OutputState.IN_MEMORY)) {
      return true;
    }
    inMemory.add(output);
    return false;
  }

  /** {@code MOVING → next}, or {@code REMOVED_WHILE_MOVING → REMOVED}: then true. */
  private static boolean endMove(CachedOutput output, OutputState next) {
    boolean removed = output.state() == OutputState.REMOVED_WHILE_MOVING;
    if (!removed) {
      output.require(OutputState.MOVING);
    }
    output.become(removed ? OutputState.REMOVED : next);
    return removed;
  }

  /** Removes the committed outputs of a shuffle, and refuses later ones. Returns those that the caller frees. */
  synchronized List<CachedOutput> removeShuffle(int shuffleId) {
    removedShuffles.set(shuffleId);
    return remove(output -> output.shuffleId() == shuffleId);
  }

  /**
   * Removes some committed outputs of a shuffle; later ones are taken as before. Returns those that the caller frees.
   */
  synchronized List<CachedOutput> removeOutputs(int shuffleId, Collection<Long> mapIds) {
    return remove(output -> output.shuffleId() == shuffleId && mapIds.contains(output.mapId()));
  }

  /** Refuses every later request and commit, and removes what is committed. Returns what the caller frees. */
  synchronized List<CachedOutput> close() {
    closed = true;
    return remove(output -> true);
  }

  private List<CachedOutput> remove(Predicate<CachedOutput> which) {
    List<CachedOutput> toFree = new ArrayList<>();
    for (Iterator<CachedOutput> all = committed.iterator(); all.hasNext();) {
      CachedOutput output = all.next();
      if (which.test(output)) {
        all.remove();
        inMemory.remove(output);
        if (output.state() == OutputState.MOVING) {
          output.become(OutputState.REMOVED_WHILE_MOVING);
        } else {
          output.become(OutputState.REMOVED);
          toFree.add(output);
        }
      }
    }
    return toFree;
  }

  /** A {@link OutputState#REMOVED} output has been freed: its bytes and its descriptor count no more. */
  synchronized void freed(CachedOutput output) {
    output.require(OutputState.REMOVED);
    usedBytes -= output.charge();
    output.setCharge(0);
    descriptors--;
  }

  /** Bytes reserved for outputs, or held by them, in memory. */
  synchronized long usedBytes() {
    return usedBytes;
  }
}
