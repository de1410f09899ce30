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

/**
 * Faults of calls of the system: calls.c is loaded into an application's processes before libc and does what a file
 * says.
 */
final class CallFaults {

  /** That file, in the application's folder: {@link #BYTES} zeros if nothing is to be done. */
  static final String CONTROL = "calls";
  static final int BYTES = 40;
  /** Where calls.c counts the calls that it has changed. */
  private static final int CHANGED_AT = 32;

  private static final String SOURCE = "calls.c";
  private static final int US_PER_MS = 1_000;
  private static final long MS_PER_S = 1_000;

  /**
   * What calls.c does: one of how many reads fails, a delay of reads and writes, milliseconds that the clock is off,
   * flags, and by how much events of connections are seen late at most.
   */
  private record Control(int readsFailOneIn, int delayUs, long clockMs, boolean mapsFail, boolean threadsStand,
      int eventsLateUs) {
    static final Control NOTHING = new Control(0, 0, 0, false, false, 0);
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

  /** By less than what Spark waits for a heartbeat, which it measures by this clock. */
  static boolean stepClock(Target target, Dice dice) throws InterruptedException {
    return change(target, new Control(0, 0, dice.between(-60, 60) * MS_PER_S, false, false, 0),
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

  /** Whether a call was changed. */
  private static boolean change(Target target, Control control, long forMs) throws InterruptedException {
    try (FileChannel file = FileChannel.open(target.folder().resolve(CONTROL), StandardOpenOption.READ,
        StandardOpenOption.WRITE)) {
      long before = changed(file);
      try {
        write(file, control);
        Thread.sleep(forMs);
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
        .putInt(control.threadsStand() ? 1 : 0).putInt(control.eventsLateUs()).flip(), 0);
  }
}
