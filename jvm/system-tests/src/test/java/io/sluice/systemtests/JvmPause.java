package io.sluice.systemtests;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/**
 * Stops all Java threads of this process for a while, as happens to real executors: at a safepoint that one thread does
 * not reach, or while the heap is dumped. Threads in native code run on.
 *
 * <p>At a safepoint: a thread is in a counted loop, in whose machine code the JVM's second compiler puts no place to
 * stop at with {@link #OPTIONS}. Then a collection is asked for: the JVM stops all other threads at once, and the
 * collection begins when the loop has ended.
 */
final class JvmPause {
  /** Of the JVM that is to be stopped. Tests start executors with the first compiler alone if they say nothing. */
  static final String OPTIONS =
      "-XX:TieredStopAtLevel=4 -XX:-UseCountedLoopSafepoints -XX:LoopStripMiningIter=0";

  private static final int OBJECTS = 3_000_000;
  /** Some hundred milliseconds of the loop. */
  private static final int TRIAL_ROUNDS = 10_000_000;
  /** For the second compiler, beside others on a busy machine. */
  private static final Duration COMPILE_LIMIT = Duration.ofSeconds(60);
  /** Until the other thread is in its loop. */
  private static final long LOOP_BEGINS_MILLIS = 50;

  private static final int ATTEMPTS = 3;

  private static volatile double result;

  private JvmPause() {}

  /**
   * @param loopNanos how long the loop has run
   * @param processorNanos how much of that it had a processor
   * @param collectionNanos how long a collection has taken that was asked for soon after the loop's start
   */
  private record Held(long loopNanos, long processorNanos, long collectionNanos) {
    /** Whether the collection had to wait for the loop. */
    boolean waited() {
      return collectionNanos > loopNanos / 2;
    }
  }

  /**
   * Holds this process's Java threads at a safepoint for about {@code millis}, or longer on a busy machine; when they
   * stood.
   */
  static Span atSafepoint(int millis) throws InterruptedException {
    int rounds = roundsFor(millis);
    try (StandstillWatch watch = StandstillWatch.start()) {
      for (int i = 0; i < ATTEMPTS && !hold(rounds).waited(); i++) {
        // On a busy machine a collection may have come before the loop's start.
      }
      return watch.longest();
    }
  }

  /** Dumps a heap of some million objects into {@code file}, which is then deleted; when Java threads stood. */
  static Span byHeapDump(String file) throws IOException {
    Map<Integer, String> heap = new HashMap<>();
    for (int i = 0; i < OBJECTS; i++) {
      heap.put(i, "object " + i);
    }
    try (StandstillWatch watch = StandstillWatch.start()) {
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
      Span longest = watch.longest();
      if (heap.size() != OBJECTS) {
        throw new IllegalStateException(heap.size() + " objects");
      }
      return longest;
    } finally {
      Files.deleteIfExists(Path.of(file));
    }
  }

  /** Waits until the loop is compiled so that a collection waits for it, and measures its speed. */
  private static int roundsFor(int millis) throws InterruptedException {
    for (int i = 0; i < 20_000; i++) {
      result += loop(100);
    }
    long deadline = System.nanoTime() + COMPILE_LIMIT.toNanos();
    Held held;
    do {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("in " + COMPILE_LIMIT + " no loop held the JVM; its options are "
            + ManagementFactory.getRuntimeMXBean().getInputArguments());
      }
      held = hold(TRIAL_ROUNDS);
    } while (!held.waited());
    // That loop may have begun before its code was compiled.
    double nanosPerRound = (double) hold(TRIAL_ROUNDS).processorNanos() / TRIAL_ROUNDS;
    return (int) Math.min(Integer.MAX_VALUE, millis * 1e6 / nanosPerRound);
  }

  private static Held hold(int rounds) throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    ThreadMXBean processor = ManagementFactory.getThreadMXBean();
    long[] nanos = new long[2];
    Thread looping = new Thread(() -> {
      begun.countDown();
      long start = System.nanoTime();
      long used = processor.getCurrentThreadCpuTime();
      result += loop(rounds);
      nanos[0] = System.nanoTime() - start;
      nanos[1] = processor.getCurrentThreadCpuTime() - used;
    }, "without-a-safepoint");
    looping.setDaemon(true);
    looping.start();
    begun.await();
    Thread.sleep(LOOP_BEGINS_MILLIS);
    long start = System.nanoTime();
    System.gc();
    long collectionNanos = System.nanoTime() - start;
    looping.join();
    return new Held(nanos[0], nanos[1], collectionNanos);
  }

  /** Each root needs the one before, so a round takes some tens of nanoseconds, whatever the compiler does. */
  private static double loop(int rounds) {
    double value = rounds;
    for (int i = 0; i < rounds; i++) {
      value = Math.sqrt(value + i);
      value = Math.sqrt(value + i);
      value = Math.sqrt(value + i);
      value = Math.sqrt(value + i);
    }
    return value;
  }
}
