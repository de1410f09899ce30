package io.sluice.bench.driver;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The {@link ThreadTimes} of every thread of some processes at one moment. */
final class ThreadCpu {

  private static final Path PROC = Path.of("/proc");

  /** By the threads' folders. */
  private final Map<Path, ThreadTimes.Named> threads;

  private ThreadCpu(Map<Path, ThreadTimes.Named> threads) {
    this.threads = threads;
  }

  static ThreadCpu of(Stream<ProcessHandle> processes) {
    return of(PROC, processes.map(ProcessHandle::pid).toList());
  }

  /** @param proc where the system has its files of processes */
  static ThreadCpu of(Path proc, List<Long> processes) {
    Map<Path, ThreadTimes.Named> threads = new HashMap<>();
    for (long process : processes) {
      for (Path thread : threads(proc.resolve(Long.toString(process)))) {
        ThreadTimes.read(thread).ifPresent(times -> threads.put(thread, times));
      }
    }
    return new ThreadCpu(threads);
  }

  private static List<Path> threads(Path process) {
    try (Stream<Path> threads = Files.list(process.resolve("task"))) {
      return threads.toList();
    } catch (IOException e) {
      // It has ended.
      return List.of();
    }
  }

  /**
   * What threads of each role have used since an earlier sample. What a thread did that has ended since, is not in it.
   */
  Map<ThreadRole, ThreadTimes> since(ThreadCpu before) {
    Map<ThreadRole, ThreadTimes> since = new EnumMap<>(ThreadRole.class);
    for (ThreadRole role : ThreadRole.values()) {
      since.put(role, ThreadTimes.NONE);
    }
    threads.forEach((thread, now) -> {
      ThreadTimes.Named then = before.threads.get(thread);
      since.merge(ThreadRole.of(now.name()), now.times().since(then == null ? ThreadTimes.NONE : then.times()),
          ThreadTimes::plus);
    });
    return since;
  }
}
