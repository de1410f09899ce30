package io.sluice.bench.driver;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * CPU of the threads of some processes, from Linux's {@code /proc}: seconds since the threads began, user time by role,
 * the kernel's time in one sum. Threads that have ended are not in it any more.
 */
record ThreadCpu(Map<ThreadRole, Double> userS, double taskKernelS, double kernelS) {

  /** Of {@code man 5 proc}: the clock's ticks per second, 100 on all Linux machines that Java runs on. */
  private static final double TICKS_PER_SECOND = 100;
  /** Positions of user and system time in a line of {@code stat}, counted behind the name in parentheses. */
  private static final int USER = 11;
  private static final int SYSTEM = 12;

  static ThreadCpu of(Stream<ProcessHandle> processes) {
    Map<ThreadRole, Double> user = new EnumMap<>(ThreadRole.class);
    double[] kernel = new double[2];
    processes.flatMap(ThreadCpu::threads).forEach(line -> {
      ThreadRole role = ThreadRole.of(line.substring(line.indexOf('(') + 1, line.lastIndexOf(')')));
      List<String> fields = List.of(line.substring(line.lastIndexOf(')') + 2).split(" "));
      user.merge(role, Long.parseLong(fields.get(USER)) / TICKS_PER_SECOND, Double::sum);
      double system = Long.parseLong(fields.get(SYSTEM)) / TICKS_PER_SECOND;
      kernel[0] += role == ThreadRole.TASK ? system : 0;
      kernel[1] += system;
    });
    return new ThreadCpu(user, kernel[0], kernel[1]);
  }

  private static Stream<String> threads(ProcessHandle process) {
    try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
      return threads.flatMap(ThreadCpu::stat).toList().stream();
    } catch (IOException e) {
      // It has ended.
      return Stream.empty();
    }
  }

  private static Stream<String> stat(Path thread) {
    try {
      return Stream.of(Files.readString(thread.resolve("stat"), StandardCharsets.UTF_8));
    } catch (IOException e) {
      // It has ended.
      return Stream.empty();
    }
  }

  /** User time of one role since an earlier sample; threads that ended meanwhile do not make it negative. */
  double userSince(ThreadCpu before, ThreadRole role) {
    return Math.max(0, userS.getOrDefault(role, 0.0) - before.userS.getOrDefault(role, 0.0));
  }

  double taskKernelSince(ThreadCpu before) {
    return Math.max(0, taskKernelS - before.taskKernelS);
  }

  double kernelSince(ThreadCpu before) {
    return Math.max(0, kernelS - before.kernelS);
  }
}
