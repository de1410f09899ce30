package io.sluice.spark.store;

import java.util.Comparator;
import java.util.TreeSet;

/**
 * The committed outputs of one shuffle in one {@link CachedOutputs}, by where they are, and their {@link ReadHistory}.
 * Guarded by that object.
 */
final class CachedShuffle {
  /** Of outputs that are equally wanted, the one that frees most with one move comes first, then the oldest. */
  private static final Comparator<CachedOutput> LARGEST_FIRST = Comparator.comparingLong(CachedOutput::memoryCharge)
      .reversed().thenComparingLong(CachedOutput::number);
  /** The one that costs the most to open for its bytes comes first. */
  private static final Comparator<CachedOutput> SMALLEST_FIRST =
      Comparator.comparingLong(CachedOutput::memoryCharge).thenComparingLong(CachedOutput::number);

  private final int id;
  private final ReadHistory history = new ReadHistory();
  /** Outputs that are not removed. */
  private final TreeSet<CachedOutput> committed = new TreeSet<>(Comparator.comparingLong(CachedOutput::number));
  /** Those {@link OutputState#IN_MEMORY} that were never on the disk. */
  private final TreeSet<CachedOutput> onlyInMemory = new TreeSet<>(LARGEST_FIRST);
  /** Those {@link OutputState#IN_MEMORY} that have come back, and whose copies are still on the disk. */
  private final TreeSet<CachedOutput> withCopy = new TreeSet<>(LARGEST_FIRST);
  /** Those {@link OutputState#ON_DISK} that may come back. */
  private final TreeSet<CachedOutput> onDisk = new TreeSet<>(SMALLEST_FIRST);

  CachedShuffle(int id) {
    this.id = id;
  }

  int id() {
    return id;
  }

  ReadHistory history() {
    return history;
  }

  TreeSet<CachedOutput> committed() {
    return committed;
  }

  /** Notes where an output is now; {@code null} while it moves and when it is removed. */
  void place(CachedOutput output, OutputState where) {
    onlyInMemory.remove(output);
    withCopy.remove(output);
    onDisk.remove(output);
    if (where == OutputState.IN_MEMORY) {
      (output.diskFile() == null ? onlyInMemory : withCopy).add(output);
    } else if (where == OutputState.ON_DISK && output.mayComeBack()) {
      onDisk.add(output);
    }
  }

  /** The output whose move costs least; null when none can move. */
  CachedOutput cheapestToMove(double now) {
    CachedOutput fresh = onlyInMemory.isEmpty() ? null : onlyInMemory.first();
    CachedOutput copied = withCopy.isEmpty() ? null : withCopy.first();
    if (fresh == null || copied == null) {
      return fresh == null ? copied : fresh;
    }
    return costOfMove(copied, now) <= costOfMove(fresh, now) ? copied : fresh;
  }

  /** What moving one of its outputs costs. */
  double costOfMove(CachedOutput output, double now) {
    return MoveOrder.costOfMove(history.expectedPasses(now), output.memoryCharge(), output.diskFile() != null);
  }

  /** The output on the disk that is wanted most in memory, if the shuffle is read again and again; else null. */
  CachedOutput firstToComeBack() {
    return history.passes() < 2 || onDisk.isEmpty() ? null : onDisk.first();
  }

  /** What is gained when one of its outputs comes back. */
  double gainOfReturn(CachedOutput output, double now) {
    return MoveOrder.gainOfReturn(history.expectedPasses(now), output.memoryCharge());
  }
}
