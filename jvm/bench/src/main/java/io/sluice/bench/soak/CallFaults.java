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
  static final int BYTES = 16;

  private static final String SOURCE = "calls.c";
  private static final int US_PER_MS = 1_000;
  private static final long MS_PER_S = 1_000;

  private CallFaults() {}

  /** Compiles the library, by any C compiler. */
  static void build(Path library) throws IOException, InterruptedException {
    Path source = library.resolveSibling(SOURCE);
    try (InputStream in = CallFaults.class.getResourceAsStream(SOURCE)) {
      Files.copy(in, source, StandardCopyOption.REPLACE_EXISTING);
    }
    Command.output(library.getParent(), List.of("cc", "-shared", "-fPIC", "-O1", "-D_LARGEFILE64_SOURCE", "-o",
        library.toString(), source.toString(), "-ldl"));
  }

  /** Some reads of block files fail for a moment. */
  static void failReads(Target target, Dice dice) throws InterruptedException {
    change(target, dice.between(1, 20), 0, 0, dice.between(50, 1_000));
  }

  /** Reads and writes of block files take some milliseconds for some seconds. */
  static void slowDisk(Target target, Dice dice) throws InterruptedException {
    change(target, 0, dice.between(2, 50) * US_PER_MS, 0, dice.between(500, 5_000));
  }

  /** By less than what Spark waits for a heartbeat, which it measures by this clock. */
  static void stepClock(Target target, Dice dice) throws InterruptedException {
    change(target, 0, 0, dice.between(-60, 60) * MS_PER_S, dice.between(500, 5_000));
  }

  private static void change(Target target, int readsFailOneIn, int delayUs, long clockMs, long forMs)
      throws InterruptedException {
    Path control = target.folder().resolve(CONTROL);
    try (FileChannel file = FileChannel.open(control, StandardOpenOption.WRITE)) {
      try {
        write(file, readsFailOneIn, delayUs, clockMs);
        Thread.sleep(forMs);
      } finally {
        write(file, 0, 0, 0);
      }
    } catch (IOException e) {
      // The application has ended.
      return;
    }
  }

  private static void write(FileChannel file, int readsFailOneIn, int delayUs, long clockMs) throws IOException {
    file.write(ByteBuffer.allocate(BYTES).order(ByteOrder.nativeOrder()).putInt(readsFailOneIn).putInt(delayUs)
        .putLong(clockMs).flip(), 0);
  }
}
