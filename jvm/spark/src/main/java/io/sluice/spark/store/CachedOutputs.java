package io.sluice.spark.store;

import java.io.File;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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

  /**
   * What a thread must copy.
   *
   * @param output in state {@link OutputState#MOVING} or {@link OutputState#RETURNING}, unless it is removed meanwhile
   * @param toDisk whether it is moving
   */
  record Copy(CachedOutput output, boolean toDisk) {}

  private final long limitOutputs;
  /** By id, those with outputs that are committed and not removed. */
  private final Map<Integer, CachedShuffle> shuffles = new TreeMap<>();
  /** By id; Spark gives each id to one shuffle. */
  private final BitSet removedShuffles = new BitSet();
  private long limitBytes;
  private long usedBytes;
  /** Granted requests whose output has not been freed: each holds a descriptor, in memory or on the disk. */
  private long descriptors;
  private long lastNumber;
  /** The time of {@link ReadHistory}: passes over any shuffle that has outputs here, and shuffles that were made. */
  private double now;
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
   * the output to move. Refuses while more is in memory than a limit that was lowered, because moving all of that is
   * not one task's work. Refuses outputs of a shuffle that was removed: Spark computes such a shuffle again when it is
   * read again, but nothing says when it is removed again, and files then stay where they are, as Spark's own do.
   */
  synchronized Room reserve(int shuffleId, long charge) {
    if (closed || removedShuffles.get(shuffleId) || charge > limitBytes || descriptors >= limitOutputs
        || usedBytes > limitBytes) {
      return Room.REFUSED;
    }
    if (usedBytes + charge <= limitBytes) {
      usedBytes += charge;
      descriptors++;
      return Room.GRANTED;
    }
    CachedOutput cheapest = cheapestToMove();
    return cheapest == null ? Room.REFUSED : new Room(false, startMove(cheapest));
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
    output.setMemoryCharge(charge);
    CachedShuffle shuffle = shuffles.get(output.shuffleId());
    if (shuffle == null) {
      now += ReadHistory.MAKING;
      shuffle = new CachedShuffle(output.shuffleId());
      shuffles.put(output.shuffleId(), shuffle);
    }
    shuffle.committed().add(output);
    shuffle.history().made(now);
    shuffle.place(output, OutputState.IN_MEMORY);
    return true;
  }

  /** {@code WRITING → REMOVED}; the caller frees the output. */
  synchronized void abandon(CachedOutput output) {
    output.require(OutputState.WRITING);
    output.become(OutputState.REMOVED);
  }

  /**
   * A task of {@code stage} is about to read a shuffle.
   *
   * @return whether outputs of it are on the disk that may be worth {@linkplain #nextCopy bringing back}
   */
  synchronized boolean read(int shuffleId, long stage) {
    CachedShuffle shuffle = shuffles.get(shuffleId);
    if (shuffle == null || !shuffle.history().isNewPass(stage)) {
      return false;
    }
    now++;
    shuffle.history().read(stage, now);
    return shuffle.firstToComeBack() != null;
  }

  /**
   * What is to be copied now that no map task waits for: an output that is {@link OutputState#MOVING}, because more is
   * in memory than the limit or because one on the disk is worth more; or one that is {@link OutputState#RETURNING}.
   * The caller copies it and asks again. Null when nothing is.
   */
  synchronized Copy nextCopy() {
    if (closed) {
      return null;
    }
    if (usedBytes > limitBytes) {
      CachedOutput cheapest = cheapestToMove();
      return cheapest == null ? null : new Copy(startMove(cheapest), true);
    }
    CachedOutput wanted = firstToComeBack();
    if (wanted == null) {
      return null;
    }
    if (usedBytes + wanted.memoryCharge() <= limitBytes) {
      return new Copy(startReturn(wanted), false);
    }
    CachedOutput cheapest = cheapestToMove();
    boolean worthIt = cheapest != null
        && shuffleOf(cheapest).costOfMove(cheapest, now) * MoveOrder.ADVANTAGE
            < shuffleOf(wanted).gainOfReturn(wanted, now);
    return worthIt ? new Copy(startMove(cheapest), true) : null;
  }

  /** The output in memory whose move costs least; of equal ones that of the oldest shuffle. */
  private CachedOutput cheapestToMove() {
    CachedOutput cheapest = null;
    double least = Double.POSITIVE_INFINITY;
    for (CachedShuffle shuffle : shuffles.values()) {
      CachedOutput candidate = shuffle.cheapestToMove(now);
      if (candidate != null && shuffle.costOfMove(candidate, now) < least) {
        cheapest = candidate;
        least = shuffle.costOfMove(candidate, now);
      }
    }
    return cheapest;
  }

  /** The output on the disk that is worth most in memory; null when none is worth the copy. */
  private CachedOutput firstToComeBack() {
    CachedOutput first = null;
    double most = 0;
    for (CachedShuffle shuffle : shuffles.values()) {
      CachedOutput candidate = shuffle.firstToComeBack();
      // One that is larger than a limit that was lowered must not keep the others away.
      if (candidate != null && candidate.memoryCharge() <= limitBytes
          && shuffle.gainOfReturn(candidate, now) > most) {
        first = candidate;
        most = shuffle.gainOfReturn(candidate, now);
      }
    }
    return first;
  }

  private CachedOutput startMove(CachedOutput output) {
    output.become(OutputState.MOVING);
    shuffleOf(output).place(output, OutputState.MOVING);
    return output;
  }

  private CachedOutput startReturn(CachedOutput output) {
    output.become(OutputState.RETURNING);
    shuffleOf(output).place(output, OutputState.RETURNING);
    usedBytes += output.memoryCharge();
    output.setCharge(output.memoryCharge());
    return output;
  }

  /** Of a committed output. */
  private CachedShuffle shuffleOf(CachedOutput output) {
    return shuffles.get(output.shuffleId());
  }

  /**
   * The bytes of an output that was {@link OutputState#MOVING} are in {@code file}.
   *
   * @return whether its shuffle was removed meanwhile: the caller frees the output
   */
  synchronized boolean moved(CachedOutput output, File file) {
    boolean removed = endCopy(output, OutputState.MOVING, OutputState.ON_DISK);
    output.setDiskFile(file);
    if (!removed) {
      leaveMemory(output);
    }
    return removed;
  }

  /**
   * The bytes of an output that was {@link OutputState#MOVING} could not be copied and are still in memory.
   *
   * @return whether its shuffle was removed meanwhile: the caller frees the output
   */
  synchronized boolean notMoved(CachedOutput output) {
    boolean removed = endCopy(output, OutputState.MOVING, OutputState.IN_MEMORY);
    if (!removed) {
      shuffleOf(output).place(output, OutputState.IN_MEMORY);
    }
    return removed;
  }

  /**
   * The copy on the disk of an output that is {@link OutputState#MOVING} or was removed meanwhile is of no use: its
   * bytes must be copied again.
   */
  synchronized void lostCopy(CachedOutput output) {
    output.setDiskFile(null);
  }

  /**
   * The bytes of an output that was {@link OutputState#RETURNING} are in memory.
   *
   * @return whether its shuffle was removed meanwhile: the caller frees the output
   */
  synchronized boolean returned(CachedOutput output) {
    boolean removed = endCopy(output, OutputState.RETURNING, OutputState.IN_MEMORY);
    if (!removed) {
      shuffleOf(output).place(output, OutputState.IN_MEMORY);
    }
    return removed;
  }

  /**
   * The bytes of an output that was {@link OutputState#RETURNING} could not be copied: it stays on the disk.
   *
   * @return whether its shuffle was removed meanwhile: the caller frees the output
   */
  synchronized boolean notReturned(CachedOutput output) {
    boolean removed = endCopy(output, OutputState.RETURNING, OutputState.ON_DISK);
    output.staysOnDisk();
    if (!removed) {
      leaveMemory(output);
    }
    return removed;
  }

  private void leaveMemory(CachedOutput output) {
    usedBytes -= output.charge();
    output.setCharge(0);
    shuffleOf(output).place(output, OutputState.ON_DISK);
  }

  /** {@code copying → next}, or {@code REMOVED_WHILE_COPIED → REMOVED}: then true. */
  private static boolean endCopy(CachedOutput output, OutputState copying, OutputState next) {
    boolean removed = output.state() == OutputState.REMOVED_WHILE_COPIED;
    if (!removed) {
      output.require(copying);
    }
    output.become(removed ? OutputState.REMOVED : next);
    return removed;
  }

  /** Removes the committed outputs of a shuffle, and refuses later ones. Returns those that the caller frees. */
  synchronized List<CachedOutput> removeShuffle(int shuffleId) {
    removedShuffles.set(shuffleId);
    return remove(shuffleId, output -> true);
  }

  /**
   * Removes some committed outputs of a shuffle; later ones are taken as before. Returns those that the caller frees.
   */
  synchronized List<CachedOutput> removeOutputs(int shuffleId, Collection<Long> mapIds) {
    return remove(shuffleId, output -> mapIds.contains(output.mapId()));
  }

  /** Refuses every later request and commit, and removes what is committed. Returns what the caller frees. */
  synchronized List<CachedOutput> close() {
    closed = true;
    List<CachedOutput> toFree = new ArrayList<>();
    for (int shuffleId : List.copyOf(shuffles.keySet())) {
      toFree.addAll(remove(shuffleId, output -> true));
    }
    return toFree;
  }

  private List<CachedOutput> remove(int shuffleId, Predicate<CachedOutput> which) {
    List<CachedOutput> toFree = new ArrayList<>();
    CachedShuffle shuffle = shuffles.get(shuffleId);
    if (shuffle == null) {
      return toFree;
    }
    for (Iterator<CachedOutput> all = shuffle.committed().iterator(); all.hasNext();) {
      CachedOutput output = all.next();
      if (which.test(output)) {
        all.remove();
        shuffle.place(output, OutputState.REMOVED);
        if (output.state() == OutputState.MOVING || output.state() == OutputState.RETURNING) {
          output.become(OutputState.REMOVED_WHILE_COPIED);
        } else {
          output.become(OutputState.REMOVED);
          toFree.add(output);
        }
      }
    }
    if (shuffle.committed().isEmpty()) {
      shuffles.remove(shuffleId);
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

  /** Sets the limit of all outputs in memory together; what is above it {@linkplain #nextCopy moves}. */
  synchronized void setLimitBytes(long bytes) {
    limitBytes = bytes;
  }

  synchronized long limitBytes() {
    return limitBytes;
  }

  /** Bytes reserved for outputs, or held by them, in memory. */
  synchronized long usedBytes() {
    return usedBytes;
  }
}
