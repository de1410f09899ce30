package io.sluice.bench.soak;

import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** What is done to an application while it runs a program. Needs Linux. */
enum Fault {

  /** Nothing, to compare with. */
  NONE(false) {
    @Override
    void inject(Target target, Dice dice) {}
  },

  /** An executor is killed with SIGKILL. */
  EXECUTOR_KILLED(false) {
    @Override
    void inject(Target target, Dice dice) {
      target.executors().stream().skip(dice.between(0, 1)).findFirst().ifPresent(ProcessHandle::destroyForcibly);
    }
  },

  /** All executors are killed with SIGKILL at once. */
  EXECUTORS_KILLED(false) {
    @Override
    void inject(Target target, Dice dice) {
      target.executors().forEach(ProcessHandle::destroyForcibly);
    }
  },

  /** An executor does nothing for some seconds, and goes on. */
  EXECUTOR_STOPPED(false) {
    @Override
    void inject(Target target, Dice dice) throws InterruptedException {
      List<ProcessHandle> executors = target.executors();
      if (!executors.isEmpty()) {
        ProcessHandle executor = dice.pick(executors);
        String pid = Long.toString(executor.pid());
        try {
          run(executor, "kill", "-STOP", pid);
          Thread.sleep(TimeUnit.SECONDS.toMillis(dice.between(1, 6)));
        } finally {
          run(executor, "kill", "-CONT", pid);
        }
      }
    }
  },

  /** The JVM of an executor stops all its threads while it writes its heap. */
  HEAP_DUMPED(false) {
    @Override
    void inject(Target target, Dice dice) throws InterruptedException {
      List<ProcessHandle> executors = target.executors();
      if (!executors.isEmpty()) {
        Path dump = target.folder().resolve("heap.hprof");
        ProcessHandle executor = dice.pick(executors);
        run(executor, Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
            Long.toString(executor.pid()), "GC.heap_dump", dump.toString());
        delete(dump);
      }
    }
  },

  /**
   * One bit of a file in Sluice's format is inverted. Not of files that Spark writes itself: most have no checksum, so
   * stock Spark could give another result too.
   */
  BIT_FLIPPED(false) {
    @Override
    void inject(Target target, Dice dice) {
      change(target, dice, Fault::isFrames, (access, length) -> {
        long at = dice.seed() % length;
        access.seek(at);
        int value = access.read();
        access.seek(at);
        access.write(value ^ (1 << dice.between(0, 7)));
      });
    }
  },

  /** A file of map output loses its end. */
  FILE_CUT(false) {
    @Override
    void inject(Target target, Dice dice) {
      change(target, dice, file -> file.getFileName().toString().endsWith(".data"),
          (access, length) -> access.setLength(dice.seed() % length));
    }
  },

  /** A file of map output is gone. */
  FILE_DELETED(false) {
    @Override
    void inject(Target target, Dice dice) {
      List<Path> files = files(target, file -> file.getFileName().toString().startsWith("shuffle_"));
      if (!files.isEmpty()) {
        delete(dice.pick(files));
      }
    }
  },

  /** All files of an executor's shuffles are gone. */
  FILES_DELETED(false) {
    @Override
    void inject(Target target, Dice dice) {
      List<Path> files = files(target, file -> file.getFileName().toString().startsWith("shuffle_"));
      if (!files.isEmpty()) {
        Path folder = dice.pick(files).getParent().getParent();
        files.stream().filter(file -> file.startsWith(folder)).forEach(Fault::delete);
      }
    }
  },

  /** An executor can open almost no more files for a moment. */
  DESCRIPTORS_EXHAUSTED(true) {
    @Override
    void inject(Target target, Dice dice) throws InterruptedException {
      List<ProcessHandle> executors = target.executors();
      if (!executors.isEmpty()) {
        ProcessHandle executor = dice.pick(executors);
        Optional<String> before = softFileLimit(executor.pid());
        if (before.isPresent()) {
          try {
            limitFiles(executor, Integer.toString(dice.between(40, 400)));
            Thread.sleep(dice.between(100, 1_500));
          } finally {
            limitFiles(executor, before.get());
          }
        }
      }
    }

    private void limitFiles(ProcessHandle executor, String soft) throws InterruptedException {
      run(executor, "prlimit", "--pid", Long.toString(executor.pid()), "--nofile=" + soft + ":");
    }
  };

  /** What faults are done to. */
  interface Target {
    /** The executors' processes that live now. */
    List<ProcessHandle> executors();

    /** Where the application has its files. */
    Path folder();
  }

  private interface Change {
    void apply(RandomAccessFile file, long length) throws IOException;
  }

  /** The magic of a frame without its version, sealed or not. */
  private static final String FRAMES_BEGIN = "SLF";
  private static final String FILE_LIMIT = "Max open files";

  private final boolean mayFail;

  Fault(boolean mayFail) {
    this.mayFail = mayFail;
  }

  /** Whether the program may fail of it, as it may on stock Spark; its result must never be another one. */
  boolean mayFail() {
    return mayFail;
  }

  /** Does it; returns when it is over. What has gone in the meantime is left alone. */
  abstract void inject(Target target, Dice dice) throws InterruptedException;

  private static void change(Target target, Dice dice, Predicate<Path> which, Change change) {
    List<Path> files = files(target, which);
    if (files.isEmpty()) {
      return;
    }
    try (RandomAccessFile file = new RandomAccessFile(dice.pick(files).toFile(), "rw")) {
      if (file.length() > 0) {
        change.apply(file, file.length());
      }
    } catch (IOException e) {
      // Its owner has removed it a moment ago, so there is nothing to damage.
      return;
    }
  }

  /** Files of Spark's block managers, shuffles and spills. */
  private static List<Path> files(Target target, Predicate<Path> which) {
    try (Stream<Path> paths = Files.walk(target.folder())) {
      return paths.filter(path -> path.toString().contains("/blockmgr-") && Files.isRegularFile(path)).filter(which)
          .sorted(Comparator.naturalOrder()).toList();
    } catch (IOException | UncheckedIOException e) {
      // Folders come and go while they are listed.
      return List.of();
    }
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      // It is its owner's to remove it, then.
      return;
    }
  }

  /**
   * Whether that is a map output or a spill in Sluice's format, whose checksums find every change. Spark's files do not
   * begin like that, nor do spills of Spark's sorts and outputs of shuffles in Spark's format.
   */
  private static boolean isFrames(Path file) {
    String name = file.getFileName().toString();
    if (!name.startsWith("temp_shuffle_") && !(name.startsWith("shuffle_") && name.endsWith(".data"))) {
      return false;
    }
    try (InputStream in = Files.newInputStream(file)) {
      return new String(in.readNBytes(FRAMES_BEGIN.length()), StandardCharsets.US_ASCII).equals(FRAMES_BEGIN);
    } catch (IOException e) {
      // Its owner has removed it a moment ago.
      return false;
    }
  }

  /** How many files the process can open now, as prlimit takes it; empty if the process has ended. */
  static Optional<String> softFileLimit(long pid) {
    try (Stream<String> limits = Files.lines(Path.of("/proc", Long.toString(pid), "limits"))) {
      return limits.filter(line -> line.startsWith(FILE_LIMIT))
          .map(line -> line.substring(FILE_LIMIT.length()).strip().split("\\s+")[0]).findFirst();
    } catch (IOException | UncheckedIOException e) {
      // The process has ended.
      return Optional.empty();
    }
  }

  /** Runs a command on {@code target}; it must succeed unless that process has ended. */
  private static void run(ProcessHandle target, String... command) throws InterruptedException {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
      if (!process.waitFor(60, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IOException("it took more than a minute");
      }
      if (process.exitValue() != 0 && target.isAlive()) {
        throw new IOException("it ended with status " + process.exitValue());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(String.join(" ", command) + " failed: " + e.getMessage(), e);
    }
  }
}
