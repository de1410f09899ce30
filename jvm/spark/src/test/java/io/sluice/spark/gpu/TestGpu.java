package io.sluice.spark.gpu;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeGpu;
import io.sluice.spark.Await;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import org.apache.spark.unsafe.Platform;

/** A GPU that encodes nothing, has done what a test says, and sorts as a test says. */
public final class TestGpu implements GpuDevice {
  /** What it does with pairs. */
  public enum Sorts {
    /** It sorts them. */
    ALL,
    /** It declines at the end, when some pairs were written. */
    NONE,
    /** It fails. */
    FAILS
  }

  private final long leastBytes;
  private final long[] statistics = new long[NativeGpu.STATISTICS.size()];
  private final List<Long> writers = new CopyOnWriteArrayList<>();
  private final List<String> kept = new CopyOnWriteArrayList<>();
  private final List<String> moves = new CopyOnWriteArrayList<>();
  private final List<Integer> forgotten = new CopyOnWriteArrayList<>();
  private volatile CountDownLatch whileKeeping = new CountDownLatch(0);
  private volatile String lacksCache = "";
  private final AtomicInteger closed = new AtomicInteger();
  private volatile LongConsumer onWriter = writer -> {};
  private volatile String lost = "";
  private volatile String failure = "";
  private volatile String lacksLanes = "";
  private volatile boolean refusesStatistics;
  private volatile byte[] copy;
  private volatile CountDownLatch whileReading = new CountDownLatch(0);
  private final List<String> reads = new CopyOnWriteArrayList<>();
  private volatile Sorts does = Sorts.ALL;
  private volatile CountDownLatch whileSorting = new CountDownLatch(0);
  private final AtomicInteger sortsBegun = new AtomicInteger();
  /** Sorts that have not ended. */
  private final Set<Long> openSorts = new HashSet<>();
  private final List<Integer> sorts = new CopyOnWriteArrayList<>();
  private final List<Integer> sortsByTasks = new CopyOnWriteArrayList<>();

  /** @param leastBytes smaller batches are not wanted */
  public TestGpu(long leastBytes) {
    this.leastBytes = leastBytes;
  }

  /** An executor's GPU that is this one, and open. */
  public ExecutorGpu open(GpuUse use, Counters counters) {
    ExecutorGpu gpu = new ExecutorGpu(use, () -> this, counters);
    Await.until("it is opened", () -> gpu.encodeFor(7));
    return gpu;
  }

  /** An executor's GPU that is this one, and is opened when the latch is down. */
  public ExecutorGpu openAfter(CountDownLatch latch, GpuUse use, Counters counters) {
    return new ExecutorGpu(use, () -> {
      try {
        latch.await(60, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return this;
    }, counters);
  }

  /** Calls a test with each writer that it is to encode for. */
  public void onWriter(LongConsumer listener) {
    onWriter = listener;
  }

  void did(String name, long amount) {
    statistics[NativeGpu.STATISTICS.indexOf(name)] += amount;
  }

  /** It is not used any more from now on. */
  public void lose(String why) {
    lost = why;
  }

  void fail(String what) {
    failure = what;
  }

  /** Encodes fewer batches at a time than it might. */
  void lackLanes(String why) {
    lacksLanes = why;
  }

  /** Keeps fewer map outputs than it might. */
  void lackCache(String why) {
    lacksCache = why;
  }

  /** It has a copy of every map output, whose partitions are these bytes; null: readers of its copies are refused. */
  void hasCopies(byte[] bytes) {
    copy = bytes;
  }

  /** Copies are read no sooner than this is down. */
  void readAfter(CountDownLatch latch) {
    whileReading = latch;
  }

  /** What was read of its copies, in words. */
  List<String> reads() {
    return reads;
  }

  /** What it does with pairs from now on. */
  public TestGpu sorting(Sorts now) {
    does = now;
    return this;
  }

  /** Pairs are read no sooner than this is down. */
  void sortAfter(CountDownLatch latch) {
    whileSorting = latch;
  }

  /** How many pairs it was to sort, each time. */
  public List<Integer> sorts() {
    return sorts;
  }

  /** How many pairs tasks have sorted, each time. */
  public List<Integer> sortsByTasks() {
    return sortsByTasks;
  }

  /** Sorts that have begun and not ended. */
  int openSorts() {
    synchronized (openSorts) {
      return openSorts.size();
    }
  }

  /** Map outputs come to it no sooner than this is down. */
  void keepAfter(CountDownLatch latch) {
    whileKeeping = latch;
  }

  /** What it was to keep, in words. */
  List<String> kept() {
    return kept;
  }

  /** Moves of host copies that it was told of, in words. */
  List<String> moves() {
    return moves;
  }

  /** Shuffles whose copies it was to drop. */
  List<Integer> forgotten() {
    return forgotten;
  }

  void refuseStatistics() {
    refusesStatistics = true;
  }

  /** Those that it was to encode for, in their order. */
  public List<Long> writers() {
    return writers;
  }

  int timesClosed() {
    return closed.get();
  }

  @Override
  public String describe() {
    return "a device of a test";
  }

  @Override
  public int lanes() {
    return 2;
  }

  @Override
  public String lacksLanes() {
    return lacksLanes;
  }

  @Override
  public String lacksCache() {
    return lacksCache;
  }

  @Override
  public void keep(int shuffleId, long mapId, File file, long[] lengths, boolean inMemory, boolean sealed) {
    kept.add(shuffleId + "/" + mapId + " " + file + " " + Arrays.toString(lengths) + " " + inMemory + " " + sealed);
    if (refusesStatistics) {
      throw new IllegalStateException("a test");
    }
    try {
      assertTrue(whileKeeping.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void hostCopyMoved(int shuffleId, long mapId, boolean inMemory) {
    moves.add(shuffleId + "/" + mapId + " " + inMemory);
    if (refusesStatistics) {
      throw new IllegalStateException("a test");
    }
  }

  @Override
  public boolean hasNearerCopy(int shuffleId, long mapId) {
    return copy != null;
  }

  @Override
  public boolean readCopy(int shuffleId, long mapId, int first, int end, long target, long bytes) {
    reads.add(shuffleId + "/" + mapId + " " + first + " to " + end);
    try {
      assertTrue(whileReading.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    if (refusesStatistics) {
      throw new IllegalStateException("a test");
    }
    if (copy.length != bytes) {
      return false;
    }
    Platform.copyMemory(copy, Platform.BYTE_ARRAY_OFFSET, null, target, bytes);
    return true;
  }

  @Override
  public void forgetShuffle(int shuffleId) {
    forgotten.add(shuffleId);
    if (refusesStatistics) {
      throw new IllegalStateException("a test");
    }
  }

  @Override
  public boolean wants(long batchBytes, int fields, int partitions) {
    return batchBytes >= leastBytes && lost.isEmpty();
  }

  @Override
  public boolean encodeFor(long writer) {
    onWriter.accept(writer);
    writers.add(writer);
    return true;
  }

  @Override
  public long leastBytes() {
    return leastBytes;
  }

  @Override
  public boolean wantsPairs(PairRange pairs) {
    if (refusesStatistics) {
      throw new IllegalStateException("a test");
    }
    return lost.isEmpty();
  }

  @Override
  public long beginSort() {
    long sort = sortsBegun.incrementAndGet();
    synchronized (openSorts) {
      openSorts.add(sort);
    }
    return sort;
  }

  @Override
  public boolean sortPairs(long sort, PairRange pairs) {
    sorts.add(pairs.count());
    try {
      assertTrue(whileSorting.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    // As the native core does: the memory may be another's when the sort has ended.
    synchronized (openSorts) {
      if (!openSorts.contains(sort)) {
        return false;
      }
      sort(pairs);
    }
    if (does == Sorts.FAILS) {
      throw new IllegalStateException("a test");
    }
    return does == Sorts.ALL;
  }

  private void sort(PairRange pairs) {
    Object base = pairs.array();
    long source = base == null ? pairs.source() : Platform.LONG_ARRAY_OFFSET + pairs.source() * Long.BYTES;
    long target = base == null ? pairs.target() : Platform.LONG_ARRAY_OFFSET + pairs.target() * Long.BYTES;
    List<long[]> all = new ArrayList<>();
    for (long at = source; at < source + PairRange.bytes(pairs.count()); at += PairRange.bytes(1)) {
      all.add(new long[] {Platform.getLong(base, at), Platform.getLong(base, at + Long.BYTES)});
    }
    if (does == Sorts.ALL) {
      int above = Long.SIZE - Byte.SIZE * (pairs.high() + 1);
      int shift = above + Byte.SIZE * pairs.low();
      all.sort((one, other) -> Long.compareUnsigned(one[1] << above >>> shift, other[1] << above >>> shift));
    } else {
      all.replaceAll(pair -> new long[] {-1, -1});
    }
    for (int i = 0; i < all.size(); i++) {
      Platform.putLong(base, target + PairRange.bytes(i), all.get(i)[0]);
      Platform.putLong(base, target + PairRange.bytes(i) + Long.BYTES, all.get(i)[1]);
    }
  }

  @Override
  public void endSort(long sort) {
    synchronized (openSorts) {
      assertTrue(openSorts.remove(sort));
    }
  }

  @Override
  public void pairsSortedByTask(PairRange pairs, long nanos) {
    sortsByTasks.add(pairs.count());
  }

  @Override
  public boolean statistics(long[] values) {
    if (refusesStatistics) {
      throw new IllegalStateException("a test");
    }
    System.arraycopy(statistics, 0, values, 0, values.length);
    return closed.get() == 0;
  }

  @Override
  public String lost() {
    return lost;
  }

  @Override
  public String failure() {
    return failure;
  }

  @Override
  public void close() {
    closed.incrementAndGet();
  }
}
