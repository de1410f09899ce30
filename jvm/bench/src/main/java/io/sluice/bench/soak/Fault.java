package io.sluice.bench.soak;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
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

  /** An executor ends without a word. */
  EXECUTOR_KILLED(false) {
    @Override
    void inject(Target target, Dice dice) {
      target.executors().stream().skip(dice.between(0, 1)).findFirst().ifPresent(ProcessHandle::destroyForcibly);
    }
  },

  /** All executors end at once. */
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
        String pid = Long.toString(dice.pick(executors).pid());
        try {
          run("kill", "-STOP", pid);
          Thread.sleep(TimeUnit.SECONDS.toMillis(dice.between(1, 6)));
        } finally {
          run("kill", "-CONT", pid);
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
        run(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
            Long.toString(dice.pick(executors).pid()), "GC.heap_dump", dump.toString());
        delete(dump);
      }
    }
  },

  /** A bit of a file is another one. */
  BIT_FLIPPED(false) {
    @Override
    void inject(Target target, Dice dice) {
      change(target, dice, file -> true, (access, length) -> {
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
        String pid = Long.toString(dice.pick(executors).pid());
        try {
          run("prlimit", "--pid", pid, "--nofile=" + dice.between(40, 400) + ":");
          Thread.sleep(dice.between(100, 1_500));
        } finally {
          run("prlimit", "--pid", pid, "--nofile=65536:");
        }
      }
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

  private static void run(String... command) throws InterruptedException {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
      if (!process.waitFor(60, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(command[0] + " cannot be run", e);
    }
  }
}
