package io.sluice.bench.driver;

import com.sun.management.OperatingSystemMXBean;
import io.sluice.bench.protocol.DriverCosts;
import java.lang.management.ManagementFactory;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import scala.collection.Iterator;

/**
 * Measures what a run costs the driver, in the driver's process: {@link #start} before it, {@link #ended} right after
 * it, {@link #costs} when its last events were delivered, while its shuffles are still referred to. Used by one thread.
 */
final class DriverMeter {

  /** Spark's cleaner removes one shuffle and one broadcast after the other, with a message to every executor each. */
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(120);
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  /** The heap has settled when a collection frees no more than this part of it. */
  private static final double SETTLED = 0.001;

  private final SparkEnv env;
  private final MapOutputTrackerMaster tracker;
  private final Set<Object> before;
  private final long heapBefore;
  private long cpuNanos;

  private DriverMeter(SparkEnv env) {
    this.env = env;
    this.tracker = (MapOutputTrackerMaster) env.mapOutputTracker();
    dropUnused();
    this.before = shuffles();
    this.heapBefore = settledHeap();
    this.cpuNanos = processCpuNanos();
  }

  /** What was there before, unused, is dropped first. */
  static DriverMeter start() {
    return new DriverMeter(SparkEnv.get());
  }

  /** The run is over. */
  void ended() {
    cpuNanos = processCpuNanos() - cpuNanos;
  }

  /** What the driver has more than before. */
  DriverCosts costs() {
    long heap = settledHeap();
    Set<Object> made = shuffles();
    made.removeAll(before);
    return new DriverCosts(made.size(), made.stream().mapToLong(this::statusBytes).sum(), heap - heapBefore,
        cpuNanos / 1e9);
  }

  /** As the driver sends them, but in one piece, where it would broadcast large ones. */
  private long statusBytes(Object shuffle) {
    return MapOutputTracker.serializeOutputStatuses(tracker.shuffleStatuses().apply(shuffle).mapStatuses(),
        env.broadcastManager(), true, Integer.MAX_VALUE, env.conf())._1().length;
  }

  private Set<Object> shuffles() {
    Set<Object> ids = new HashSet<>();
    for (Iterator<Object> all = tracker.shuffleStatuses().keysIterator(); all.hasNext();) {
      ids.add(all.next());
    }
    return ids;
  }

  /** Waits until Spark's cleaner has removed the shuffles of earlier runs, or gives up. */
  private void dropUnused() {
    long deadline = System.nanoTime() + LIMIT_NANOS;
    System.gc();
    while (!shuffles().isEmpty() && System.nanoTime() < deadline) {
      LockSupport.parkNanos(POLL_NANOS);
      System.gc();
    }
  }

  /** Bytes of the heap in use when collections free nothing more, because the cleaner has nothing left to do. */
  private static long settledHeap() {
    long deadline = System.nanoTime() + LIMIT_NANOS;
    long last = Long.MAX_VALUE;
    long now = collectedHeap();
    while (last - now > SETTLED * now && System.nanoTime() < deadline) {
      LockSupport.parkNanos(POLL_NANOS);
      last = now;
      now = Math.min(last, collectedHeap());
    }
    return now;
  }

  private static long collectedHeap() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static long processCpuNanos() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
        ? system.getProcessCpuTime() : 0;
  }
}
