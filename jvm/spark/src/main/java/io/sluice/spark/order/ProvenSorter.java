package io.sluice.spark.order;

import io.sluice.spark.gpu.GpuPairSorter;
import io.sluice.spark.memory.HeapQuota;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RowKey;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.TaskCompletionListener;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Sorts a partition's records by a comparator of which nothing is known. A sort calls its comparator n log n times, on
 * objects; here rows are sorted by a guess of the order ({@link OrderGuess}), and the comparator is called n - 1 times,
 * for neighbours: if it finds none out of order, the guess was right for these keys. Keys that it calls equal are put
 * back into the order in which they came, so the result is that of a stable sort by the comparator.
 *
 * <p>Rows that do not fit the memory are sorted, proven and spilled in runs, which the comparator merges. When a run is
 * refuted, or there is too little memory for runs of a useful size, this sorter takes no more: {@link #taken} gives
 * back what it has.
 *
 * <p>Merging opens all runs at once. What their readers take ({@link SpilledRun}; with Spark's defaults 4 MiB each) is
 * taken from Spark's execution memory on the heap for each run before it is written. A run holds at least as much as
 * its reader takes, so readers never take more than rows did. Where Spark has no memory for one more reader, no more
 * runs are made. {@link #taken} opens one run at a time.
 *
 * <pre>
 *   rows ─► ResidentRows ─► sort by the guess ─► compare neighbours ─┬─► SpilledRun … ─┐
 *                                                                    └─► the last run ─┴─► MergedRuns
 * </pre>
 *
 * <p>What is asked of the comparator is what {@link Comparator} asks: a total order, the same for the same keys. One
 * that breaks this gives some order, as it would with any sort; no record is lost or doubled. One thread, the task's:
 * it must have ended when the task's completion listeners run, which free memory and files.
 */
final class ProvenSorter<K, C> implements RowSorter<K, C> {
  /** Each run that is merged has a file open. */
  private static final int MOST_RUNS = 64;
  /** Orders that are tried for a run, each by a sort; one more for each part of the keys. */
  private static final int MOST_GUESSES = 2;
  /** Neighbours behind one that is out of order of which more is learned for the next guess. */
  private static final int LEARNED_ROWS = 256;
  /** Rows that are fetched into the cache together, and how much of each. */
  private static final int TOUCHED_ROWS = 64;
  private static final int TOUCHED_BYTES = 128;

  private final TaskContext context;
  private final Comparator<? super K> comparator;
  private final Counters counters;
  private final GpuPairSorter gpu;
  private final Runnable onRefuted;
  private final OrderGuess guess;
  /** The order that was guessed before the comparator was asked: rows are inserted with its prefixes. */
  private final OrderByParts likeliest;
  private final ResidentRows resident;
  private final List<SpilledRun> spilled = new ArrayList<>();
  /** Counts the memory of the spilled runs' readers. */
  private final HeapQuota readers;
  private final long bufferBytes = SpilledRun.bufferBytes();
  /** Of the spilled runs' readers, for rows. */
  private long arrayBytes;
  private int longestRowBytes;
  private RowKey left = new RowKey();
  private RowKey right = new RowKey();
  /** Whether the run that is resident was refuted. */
  private boolean refuted;
  /** Written so that the JIT compiler does not remove the loads that fetch cache lines. */
  private long touched;

  /**
   * @param residentBytes the most of the task's memory that rows may take
   * @param guess for keys like the first
   * @param gpu sorts many references
   * @param onRefuted called when a run is refuted
   */
  ProvenSorter(TaskContext context, TaskMemory memory, long residentBytes, Comparator<? super K> comparator,
      OrderGuess guess, Counters counters, GpuPairSorter gpu, Runnable onRefuted) {
    this.context = context;
    this.comparator = comparator;
    this.guess = guess;
    this.likeliest = guess.guess().orElseThrow();
    this.counters = counters;
    this.gpu = gpu;
    this.onRefuted = onRefuted;
    this.resident = new ResidentRows(memory, residentBytes, true);
    this.readers = new HeapQuota(context.taskMemoryManager());
    context.addTaskCompletionListener((TaskCompletionListener) ended -> {
      resident.close();
      spilled.forEach(SpilledRun::delete);
      readers.release();
    });
  }

  @Override
  public boolean insert(UnsafeRow row, RowKey key) {
    return !refuted && likeliest.hasPrefix(key) && (add(row, key) || spill() && add(row, key));
  }

  private boolean add(UnsafeRow row, RowKey key) {
    longestRowBytes = Math.max(longestRowBytes, row.getSizeInBytes());
    return resident.add(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), likeliest.prefix(key, 0));
  }

  /**
   * Makes room by a run; false when runs would be too small or too many, there is no memory for its reader, or it is
   * refuted.
   */
  private boolean spill() {
    long rowBytes = SpilledRun.rowBytes(longestRowBytes);
    if (resident.heldBytes() < bufferBytes + rowBytes || spilled.size() == MOST_RUNS
        || !readers.cover(bufferBytes * (spilled.size() + 1) + arrayBytes + rowBytes) || !sortRun()) {
      return false;
    }
    arrayBytes += rowBytes;
    spilled.add(SpilledRun.of(resident, context));
    resident.close();
    return true;
  }

  @Override
  public Optional<Iterator<Product2<K, C>>> sorted() {
    if (refuted || resident.size() > 0 && !sortRun()) {
      return Optional.empty();
    }
    context.taskMetrics().incPeakExecutionMemory(resident.peakBytes());
    List<Iterator<Product2<K, C>>> runs = runs(() -> readers.release(bufferBytes)).stream().map(Supplier::get).toList();
    return Optional.of(runs.size() == 1 ? runs.get(0) : new MergedRuns<>(runs, comparator));
  }

  @Override
  public Iterator<Product2<K, C>> taken() {
    // One run is open at a time.
    readers.release(readers.getUsed() - (spilled.isEmpty() ? 0 : bufferBytes + arrayBytes));
    if (resident.size() > 1) {
      referenceSort(likeliest).sortByArrival(0, resident.size());
    }
    return new RunsInTurn<>(runs(() -> {}));
  }

  /**
   * The spilled runs, and the rows that are resident; each is opened by its {@code get}.
   *
   * @param afterRun called when a spilled run is at its end
   */
  private List<Supplier<Iterator<Product2<K, C>>>> runs(Runnable afterRun) {
    resident.freeScratch();
    List<Supplier<Iterator<Product2<K, C>>>> runs = new ArrayList<>();
    for (SpilledRun run : spilled) {
      runs.add(() -> run.records(afterRun));
    }
    if (resident.size() > 0) {
      runs.add(() -> new ResidentRecords<>(resident));
    }
    return runs;
  }

  /**
   * Sorts the resident rows; false when the comparator refutes every guess. A pair that is out of order, and its
   * answers for some that follow, say more for the next guess: the sample may say nothing of the second parts of
   * tuples, for example.
   */
  private boolean sortRun() {
    guess.ask(comparator, resident);
    Optional<OrderByParts> order = guess.guess();
    boolean proven = false;
    for (int guesses = 0; !proven && order.isPresent() && guesses < MOST_GUESSES + guess.parts(); guesses++) {
      proven = sortBy(order.get(), guesses > 0);
      if (!proven) {
        order = guess.guess();
      }
    }
    counters.increment(proven ? Counter.READ_RUNS_PROVEN : Counter.READ_RUNS_REFUTED);
    if (!proven) {
      refuted = true;
      onRefuted.run();
    }
    return proven;
  }

  private ReferenceSort referenceSort(OrderByParts order) {
    return new ReferenceSort(context, resident, order, resident.takeScratch(), gpu);
  }

  /** @param again whether the rows are no longer in the order in which they came, with their numbers */
  private boolean sortBy(OrderByParts order, boolean again) {
    ReferenceSort sort = referenceSort(order);
    if (again) {
      sort.sortByArrival(0, resident.size());
    }
    if (again || !order.isSameAs(likeliest)) {
      for (int i = 0; i < resident.size(); i++) {
        long address = resident.address(i);
        left.pointTo(null, address, ResidentRows.bytes(address));
        resident.set(i, address, order.prefix(left, 0));
      }
    }
    sort.sort();
    return isProven(order, sort);
  }

  /**
   * Compares neighbours by the comparator; false if a pair is out of order, which is then noted. Keys that are equal
   * for it, but not for the guess, are put back into the order in which they came.
   */
  private boolean isProven(OrderByParts order, ReferenceSort sort) {
    int equalFrom = 0;
    boolean differ = false;
    K before = null;
    for (int i = 0; i < resident.size(); i++) {
      if (i % TOUCHED_ROWS == 0) {
        context.killTaskIfInterrupted();
        touched += resident.touch(i, Math.min(i + TOUCHED_ROWS, resident.size()), TOUCHED_BYTES);
      }
      K key = pointRightTo(i);
      int answer = i == 0 ? 0 : comparator.compare(before, key);
      if (answer > 0) {
        guess.note(answer, left, right);
        learnFrom(i);
        return false;
      }
      if (answer < 0) {
        restore(differ, sort, equalFrom, i);
        equalFrom = i;
        differ = false;
      } else if (i > 0) {
        differ = differ || order.compare(left, right) != 0;
      }
      swap();
      before = key;
    }
    restore(differ, sort, equalFrom, resident.size());
    return true;
  }

  /** Notes what the comparator says of neighbours, from the row at {@code first} on. */
  private void learnFrom(int first) {
    K before = null;
    for (int i = first; i < Math.min(first + LEARNED_ROWS, resident.size()); i++) {
      K key = pointRightTo(i);
      if (i > first) {
        guess.note(comparator.compare(before, key), left, right);
      }
      swap();
      before = key;
    }
  }

  @SuppressWarnings("unchecked") // Keys are of the class that the shuffle's are.
  private K pointRightTo(int index) {
    long address = resident.address(index);
    right.pointTo(null, address, ResidentRows.bytes(address));
    return (K) right.object();
  }

  private void swap() {
    RowKey swap = left;
    left = right;
    right = swap;
  }

  private static void restore(boolean differ, ReferenceSort sort, int from, int until) {
    if (differ) {
      sort.sortByArrival(from, until);
    }
  }
}
