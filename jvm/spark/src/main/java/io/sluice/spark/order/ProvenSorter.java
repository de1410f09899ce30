package io.sluice.spark.order;

import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.RowKey;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
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
  /** Smaller runs are not worth a file. */
  private static final long LEAST_RUN_BYTES = 1 << 20;
  /** Each run that is merged has a file open and a buffer. */
  private static final int MOST_RUNS = 64;
  /** Orders that are tried for a run, each by a sort. */
  private static final int MOST_GUESSES = 3;
  /** Rows that are fetched into the cache together, and how much of each. */
  private static final int TOUCHED_ROWS = 64;
  private static final int TOUCHED_BYTES = 128;

  private final TaskContext context;
  private final Comparator<? super K> comparator;
  private final Counters counters;
  private final Runnable onRefuted;
  private final List<KeyOrder> candidates;
  /** The likeliest order: rows are inserted with its prefixes. */
  private final KeyOrder likeliest;
  private final ResidentRows resident;
  private final List<SpilledRun> spilled = new ArrayList<>();
  private RowKey left = new RowKey();
  private RowKey right = new RowKey();
  /** Whether the run that is resident was refuted. */
  private boolean refuted;
  /** Written so that the JIT compiler does not remove the loads that fetch cache lines. */
  private long touched;

  /**
   * @param residentBytes the most of the task's memory that rows may take
   * @param candidates of {@link OrderGuess#candidates} for the first key; at least one
   * @param onRefuted called when a run is refuted
   */
  ProvenSorter(TaskContext context, TaskMemory memory, long residentBytes, Comparator<? super K> comparator,
      List<KeyOrder> candidates, Counters counters, Runnable onRefuted) {
    this.context = context;
    this.comparator = comparator;
    this.candidates = new ArrayList<>(candidates);
    this.likeliest = candidates.get(0);
    this.counters = counters;
    this.onRefuted = onRefuted;
    this.resident = new ResidentRows(memory, residentBytes, true);
    context.addTaskCompletionListener((TaskCompletionListener) ended -> {
      resident.close();
      spilled.forEach(SpilledRun::delete);
    });
  }

  @Override
  public boolean insert(UnsafeRow row, RowKey key) throws IOException {
    return !refuted && likeliest.hasPrefix(key) && (add(row, key) || spill() && add(row, key));
  }

  private boolean add(UnsafeRow row, RowKey key) {
    return resident.add(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), likeliest.prefix(key, 0));
  }

  /** Makes room by a run; false when runs would be too small or too many, or this one is refuted. */
  private boolean spill() throws IOException {
    if (resident.heldBytes() < LEAST_RUN_BYTES || spilled.size() == MOST_RUNS || !sortRun()) {
      return false;
    }
    spilled.add(SpilledRun.of(resident, context));
    resident.close();
    return true;
  }

  @Override
  public Optional<Iterator<Product2<K, C>>> sorted() throws IOException {
    if (refuted || resident.size() > 0 && !sortRun()) {
      return Optional.empty();
    }
    context.taskMetrics().incPeakExecutionMemory(resident.peakBytes());
    List<Iterator<Product2<K, C>>> runs = runs();
    return Optional.of(runs.size() == 1 ? runs.get(0) : new MergedRuns<>(runs, comparator));
  }

  @Override
  public Iterator<Product2<K, C>> taken() throws IOException {
    if (resident.size() > 1) {
      new ReferenceSort(context, resident, likeliest, resident.takeScratch()).sortByArrival(0, resident.size());
    }
    return new RunsInTurn<>(runs());
  }

  /** The spilled runs, and the rows that are resident. */
  private List<Iterator<Product2<K, C>>> runs() throws IOException {
    resident.freeScratch();
    List<Iterator<Product2<K, C>>> runs = new ArrayList<>();
    for (SpilledRun run : spilled) {
      runs.add(run.records());
    }
    if (resident.size() > 0) {
      runs.add(new ResidentRecords<>(resident));
    }
    return runs;
  }

  /**
   * Sorts the resident rows; false when the comparator refutes every guess. A pair that is out of order leaves fewer
   * orders to guess, of which the next is tried: the sample may say nothing of the second parts of pairs, for example.
   */
  private boolean sortRun() {
    List<KeyOrder> possible = OrderGuess.agreeing(comparator, candidates, resident);
    boolean proven = false;
    for (int guesses = 0; !proven && !possible.isEmpty() && guesses < MOST_GUESSES; guesses++) {
      KeyOrder guess = possible.get(0);
      proven = sortBy(guess, guesses > 0);
      if (proven) {
        preferred(guess);
      } else {
        OrderGuess.removeContradicted(possible, 1, left, right);
      }
    }
    counters.increment(proven ? Counter.READ_RUNS_PROVEN : Counter.READ_RUNS_REFUTED);
    if (!proven) {
      refuted = true;
      onRefuted.run();
    }
    return proven;
  }

  /** What was proven for one run is tried first for the next. */
  private void preferred(KeyOrder order) {
    candidates.remove(order);
    candidates.add(0, order);
  }

  /** @param again whether the rows are no longer in the order in which they came, with their numbers */
  private boolean sortBy(KeyOrder guess, boolean again) {
    ReferenceSort sort = new ReferenceSort(context, resident, guess, resident.takeScratch());
    if (again) {
      sort.sortByArrival(0, resident.size());
    }
    if (again || !guess.equals(likeliest)) {
      for (int i = 0; i < resident.size(); i++) {
        long address = resident.address(i);
        left.pointTo(null, address, ResidentRows.bytes(address));
        resident.set(i, address, guess.prefix(left, 0));
      }
    }
    sort.sort();
    return isProven(guess, sort);
  }

  /**
   * Compares neighbours by the comparator; false at the first pair that is out of order, {@link #left} and
   * {@link #right}. Keys that are equal for it, but not for the guess, are put back into the order in which they came.
   */
  @SuppressWarnings("unchecked") // Keys are of the class that the shuffle's are.
  private boolean isProven(KeyOrder guess, ReferenceSort sort) {
    int equalFrom = 0;
    boolean differ = false;
    K before = null;
    for (int i = 0; i < resident.size(); i++) {
      if (i % TOUCHED_ROWS == 0) {
        context.killTaskIfInterrupted();
        touched += resident.touch(i, Math.min(i + TOUCHED_ROWS, resident.size()), TOUCHED_BYTES);
      }
      long address = resident.address(i);
      right.pointTo(null, address, ResidentRows.bytes(address));
      K key = (K) right.object();
      int answer = i == 0 ? 0 : comparator.compare(before, key);
      if (answer > 0) {
        return false;
      }
      if (answer < 0) {
        restore(differ, sort, equalFrom, i);
        equalFrom = i;
        differ = false;
      } else if (i > 0) {
        differ = differ || guess.compare(left, right) != 0;
      }
      RowKey swap = left;
      left = right;
      right = swap;
      before = key;
    }
    restore(differ, sort, equalFrom, resident.size());
    return true;
  }

  private static void restore(boolean differ, ReferenceSort sort, int from, int until) {
    if (differ) {
      sort.sortByArrival(from, until);
    }
  }
}
