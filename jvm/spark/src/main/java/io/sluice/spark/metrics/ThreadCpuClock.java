package io.sluice.spark.metrics;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** CPU time of the calling thread, which does not go on while the thread waits for a core or sleeps. */
public final class ThreadCpuClock {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final boolean SUPPORTED = THREADS.isCurrentThreadCpuTimeSupported();

  private ThreadCpuClock() {}

  /**
   * Nanoseconds that the thread has run, in the kernel and outside, for differences; always the same where the JVM
   * does not know it. A call is a system call: for batches and frames, not for rows.
   */
  public static long nanos() {
    return SUPPORTED ? THREADS.getCurrentThreadCpuTime() : 0;
  }
}
