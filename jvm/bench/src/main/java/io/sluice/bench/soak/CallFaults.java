package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Faults of calls of the system: calls.c is loaded into an application's processes before libc and does what a file
 * says.
 */
final class CallFaults {

  /** That file, in the application's folder: {@link #BYTES} zeros if nothing is to be done. */
  static final String CONTROL = "calls";
  static final int BYTES = 48;
  /** Where calls.c counts the calls that it has changed. */
  private static final int CHANGED_AT = 40;

  private static final String SOURCE = "calls.c";
  private static final int US_PER_MS = 1_000;
  private static final long MS_PER_S = 1_000;
  /** As long as a new executor is awaited that loads the library. */
  private static final long NEW_EXECUTOR_MS = 30_000;
  /** A thread that reads one-sidedly waits for events several times in this time. */
  private static final long AGENT_MS = 2_000;
  private static final long POLL_MS = 5;

  /**
   * What calls.c does: one of how many reads fails, a delay of reads and writes, milliseconds that the clock is off,
   * flags, by how much events of connections are seen late at most, how many threads that read one-sidedly end, and
   * whether Sluice's library is gone.
   */
  private record Control(int readsFailOneIn, int delayUs, long clockMs, boolean mapsFail, boolean threadsStand,
      int eventsLateUs, int agentsEnd, boolean libraryGone) {
    static final Control NOTHING = new Control(0, 0, 0, false, false, 0);
    static final Control LIBRARY_GONE = new Control(0, 0, 0, false, false, 0, 0, true);

    Control(int readsFailOneIn, int delayUs, long clockMs, boolean mapsFail, boolean threadsStand, int eventsLateUs) {
      this(readsFailOneIn, delayUs, clockMs, mapsFail, threadsStand, eventsLateUs, 0, false);
    }

    static Control agentsEnd(int agents) {
      return new Control(0, 0, 0, false, false, 0, agents, false);
    }
  }

  private CallFaults() {}

  /** Compiles the library, by any C compiler. */
  static void build(Path library) throws IOException, InterruptedException {
    Path source = library.resolveSibling(SOURCE);
    try (InputStream in = CallFaults.class.getResourceAsStream(SOURCE)) {
      Files.copy(in, source, StandardCopyOption.REPLACE_EXISTING);
    }
    Command.output(library.getParent(), List.of("cc", "-shared", "-fPIC", "-O1", "-D_LARGEFILE64_SOURCE", "-o",
        library.toString(), source.toString(), "-ldl", "-lpthread"));
  }

  /** Some reads of block files fail for a moment. */
  static boolean failReads(Target target, Dice dice) throws InterruptedException {
    return change(target, new Control(dice.between(1, 20), 0, 0, false, false, 0), dice.between(50, 1_000));
  }

  /** Reads and writes of block files take some milliseconds for some seconds. */
  static boolean slowDisk(Target target, Dice dice) throws InterruptedException {
    return change(target, new Control(0, dice.between(2, 50) * US_PER_MS, 0, false, false, 0),
        dice.between(500, 5_000));
  }

  /**
   * By less than what is left of the 60 s that the master of local-cluster waits for a heartbeat, which it measures by
   * this clock, when the next one is due: workers send one every 15 s. Else it removes both and their executors.
   */
  static boolean stepClock(Target target, Dice dice) throws InterruptedException {
    return change(target, new Control(0, 0, dice.between(-60, 40) * MS_PER_S, false, false, 0),
        dice.between(500, 5_000));
  }

  /** No file can be mapped for a moment. */
  static boolean refuseMappings(Target target, Dice dice) throws InterruptedException {
    return change(target, new Control(0, 0, 0, true, false, 0), dice.between(50, 1_500));
  }

  /** Threads of Sluice stand still for some seconds, when they next read, write or wait for events. */
  static boolean holdThreads(Target target, Dice dice) throws InterruptedException {
    return change(target, new Control(0, 0, 0, false, true, 0), dice.between(500, 6_000));
  }

  /** What arrives over connections is seen up to some tenths of a second later, by different times. */
  static boolean delayMessages(Target target, Dice dice) throws InterruptedException {
    return change(target, new Control(0, 0, 0, false, false, dice.between(20, 300) * US_PER_MS),
        dice.between(500, 5_000));
  }

  /**
   * An executor is killed, and the one that comes in its place finds no library of Sluice's. If none comes within some
   * time, or none of them looks for the library, there was nothing to harm.
   */
  static boolean replaceWithoutLibrary(Target target, Dice dice) throws InterruptedException {
    List<ProcessHandle> chosen = dice.some(1, target.executors());
    return change(target, Control.LIBRARY_GONE, (file, before) -> {
      if (ProcessFaults.kill(chosen)) {
        awaitChange(file, before, NEW_EXECUTOR_MS);
      }
    });
  }

  /** The thread that reads one-sidedly ends in one or two processes; if none waits for events, nobody has one. */
  static boolean endAgents(Target target, Dice dice) throws InterruptedException {
    return change(target, Control.agentsEnd(dice.between(1, 2)),
        (file, before) -> awaitChange(file, before, AGENT_MS));
  }

  private static boolean change(Target target, Control control, long forMs) throws InterruptedException {
    return change(target, control, (file, before) -> Thread.sleep(forMs));
  }

  /** What is done while calls are changed. */
  private interface Meanwhile {
    /** @param before how many calls had been changed when it began */
    void pass(FileChannel file, long before) throws IOException, InterruptedException;
  }

  private static void awaitChange(FileChannel file, long before, long mostMs)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(mostMs);
    while (changed(file) == before && System.nanoTime() < end) {
      Thread.sleep(POLL_MS);
    }
  }

  /** Whether a call was changed. */
  private static boolean change(Target target, Control control, Meanwhile meanwhile) throws InterruptedException {
    try (FileChannel file = FileChannel.open(target.folder().resolve(CONTROL), StandardOpenOption.READ,
        StandardOpenOption.WRITE)) {
      long before = changed(file);
      try {
        write(file, control);
        meanwhile.pass(file, before);
      } finally {
        write(file, Control.NOTHING);
      }
      return changed(file) > before;
    } catch (IOException e) {
      // The application has ended.
      return false;
    }
  }

  private static long changed(FileChannel file) throws IOException {
    ByteBuffer count = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
    return file.read(count, CHANGED_AT) == Long.BYTES ? count.getLong(0) : 0;
  }

  private static void write(FileChannel file, Control control) throws IOException {
    file.write(ByteBuffer.allocate(BYTES).order(ByteOrder.nativeOrder()).putInt(control.readsFailOneIn())
        .putInt(control.delayUs()).putLong(control.clockMs()).putInt(control.mapsFail() ? 1 : 0)
        .putInt(control.threadsStand() ? 1 : 0).putInt(control.eventsLateUs()).putInt(control.agentsEnd())
        .putInt(control.libraryGone() ? 1 : 0).flip(), 0);
  }
}
