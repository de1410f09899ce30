package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Faults that end or stop processes. */
final class ProcessFaults {

  /** As long as a program that writes map outputs is awaited. */
  private static final long LOOK_MS = 10_000;
  private static final long POLL_MS = 2;
  private static final int COLLECTIONS = 5;

  /** A map output that is being written, as Spark's resolver names it: shuffle_1_2_0.data.UUID. */
  private static final Pattern UNCOMMITTED = Pattern.compile("shuffle_\\d+_\\d+_\\d+\\.(data|index)\\.[0-9a-f-]{36}");
  private static final Pattern COMMITTED = Pattern.compile("shuffle_\\d+_\\d+_\\d+\\.index");

  private ProcessFaults() {}

  static boolean killOne(Target target, Dice dice) {
    return kill(dice.some(1, target.executors()));
  }

  /** Whether one was killed. */
  static boolean kill(List<ProcessHandle> executors) {
    boolean killed = false;
    for (ProcessHandle executor : executors) {
      killed |= executor.destroyForcibly();
    }
    return killed;
  }

  /** Waits for an executor that has a map output open that is not committed; none in time means no harm. */
  static boolean killInCommit(Target target, Dice dice) throws InterruptedException {
    return await(() -> {
      Optional<ProcessHandle> writer = target.executors().stream().filter(ProcessFaults::writesMapOutput).findFirst();
      return writer.isPresent() && writer.get().destroyForcibly();
    });
  }

  /** Waits for a map output that was not there before; none in time means no harm. */
  static boolean killAfterCommit(Target target, Dice dice) throws InterruptedException {
    Set<Path> before = new HashSet<>(FileFaults.named(target, COMMITTED));
    return await(() -> !before.containsAll(FileFaults.named(target, COMMITTED))) && killOne(target, dice);
  }

  static boolean stop(List<ProcessHandle> processes, Dice dice) throws InterruptedException {
    try {
      for (ProcessHandle process : processes) {
        Command.run(process, "kill", "-STOP", Long.toString(process.pid()));
      }
      Thread.sleep(TimeUnit.SECONDS.toMillis(dice.between(1, 6)));
    } finally {
      for (ProcessHandle process : processes) {
        Command.run(process, "kill", "-CONT", Long.toString(process.pid()));
      }
    }
    return !processes.isEmpty();
  }

  static boolean dumpHeap(Target target, Dice dice) throws InterruptedException {
    boolean dumped = false;
    for (ProcessHandle executor : dice.some(1, target.executors())) {
      Path dump = target.folder().resolve("heap.hprof");
      jcmd(executor, "GC.heap_dump", dump.toString());
      dumped |= FileFaults.delete(dump);
    }
    return dumped;
  }

  static boolean collectGarbage(Target target, Dice dice) throws InterruptedException {
    List<ProcessHandle> executors = dice.some(1, target.executors());
    for (ProcessHandle executor : executors) {
      for (int i = 0; i < COLLECTIONS && executor.isAlive(); i++) {
        jcmd(executor, "GC.run");
      }
    }
    return !executors.isEmpty();
  }

  static void jcmd(ProcessHandle executor, String... arguments) throws InterruptedException {
    String program = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    Command.run(executor,
        Stream.concat(Stream.of(program, Long.toString(executor.pid())), Stream.of(arguments)).toList());
  }

  private static boolean writesMapOutput(ProcessHandle executor) {
    try (Stream<Path> open = Files.list(Path.of("/proc", Long.toString(executor.pid()), "fd"))) {
      return open.anyMatch(descriptor -> {
        try {
          return UNCOMMITTED.matcher(Files.readSymbolicLink(descriptor).getFileName().toString()).matches();
        } catch (IOException | RuntimeException e) {
          // It was closed a moment ago, or is no file.
          return false;
        }
      });
    } catch (IOException | UncheckedIOException e) {
      // The process has ended.
      return false;
    }
  }

  private static boolean await(BooleanSupplier done) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LOOK_MS);
    while (System.nanoTime() < end) {
      if (done.getAsBoolean()) {
        return true;
      }
      Thread.sleep(POLL_MS);
    }
    return false;
  }
}
