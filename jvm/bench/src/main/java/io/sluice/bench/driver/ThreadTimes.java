package io.sluice.bench.driver;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What a thread, or several, have used and waited for since they began, from the files {@code stat} and {@code
 * schedstat} of Linux's {@code /proc}.
 *
 * @param cpuS seconds on a core, in the kernel and outside
 * @param kernelS the part of it in the kernel, which is counted in hundredths of a second
 * @param coreWaitS seconds in which a thread could have run, but other threads had the cores; NaN where the kernel does
 *     not tell
 */
record ThreadTimes(double cpuS, double kernelS, double coreWaitS) {

  static final ThreadTimes NONE = new ThreadTimes(0, 0, 0);

  /** Of {@code man 5 proc}: the clock's ticks per second, 100 on all Linux machines that Java runs on. */
  private static final double TICKS_PER_SECOND = 100;
  private static final double NANOS_PER_SECOND = 1e9;
  /** Positions of user and system time in a line of {@code stat}, counted behind the name in parentheses. */
  private static final int USER = 11;
  private static final int SYSTEM = 12;

  /** A thread's name and times. */
  record Named(String name, ThreadTimes times) {}

  /** Of the thread whose folder in {@code /proc} is {@code thread}; empty when it has ended. */
  static Optional<Named> read(Path thread) {
    try {
      String stat = Files.readString(thread.resolve("stat"), StandardCharsets.UTF_8);
      List<String> fields = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" "));
      double kernelS = Long.parseLong(fields.get(SYSTEM)) / TICKS_PER_SECOND;
      double cpuS = Long.parseLong(fields.get(USER)) / TICKS_PER_SECOND + kernelS;
      return Optional.of(new Named(stat.substring(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
          scheduled(thread, new ThreadTimes(cpuS, kernelS, Double.NaN))));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** With the scheduler's own, finer figures: nanoseconds on a core, and waiting for one. */
  private static ThreadTimes scheduled(Path thread, ThreadTimes coarse) {
    try {
      String[] fields = Files.readString(thread.resolve("schedstat"), StandardCharsets.UTF_8).trim().split(" ");
      double cpuS = Long.parseLong(fields[0]) / NANOS_PER_SECOND;
      if (cpuS == 0 && coarse.cpuS > 0) {
        // The kernel has the file, but counts nothing.
        return coarse;
      }
      return new ThreadTimes(cpuS, Math.min(coarse.kernelS, cpuS), Long.parseLong(fields[1]) / NANOS_PER_SECOND);
    } catch (IOException e) {
      // A kernel without these statistics, or the thread has ended meanwhile.
      return coarse;
    }
  }

  /** Since {@code before}; nothing is negative. */
  ThreadTimes since(ThreadTimes before) {
    return new ThreadTimes(Math.max(0, cpuS - before.cpuS), Math.max(0, kernelS - before.kernelS),
        // Passes NaN on.
        Math.max(0, coreWaitS - before.coreWaitS));
  }

  ThreadTimes plus(ThreadTimes other) {
    return new ThreadTimes(cpuS + other.cpuS, kernelS + other.kernelS, coreWaitS + other.coreWaitS);
  }
}
