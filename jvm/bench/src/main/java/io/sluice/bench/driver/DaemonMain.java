package io.sluice.bench.driver;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Entry point of a process that runs another program's main class until standard input ends. So it ends with the
 * process that started it, however that one ends.
 */
public final class DaemonMain {

  private static final long STOP_MS = TimeUnit.SECONDS.toMillis(5);

  private DaemonMain() {}

  /** Runs the class named first, with the other arguments. */
  public static void main(String[] arguments) throws ReflectiveOperationException {
    start("end-with-parent", DaemonMain::endWithInput);
    try {
      Class.forName(arguments[0]).getMethod("main", String[].class)
          .invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
    } catch (InvocationTargetException e) {
      e.getCause().printStackTrace();
      System.exit(1);
    }
  }

  private static void endWithInput() {
    try {
      while (System.in.read() >= 0) {
        // Nothing is expected.
      }
    } catch (IOException e) {
      // The other end is gone.
    }
    // Hooks of the program may wait for others that are gone, too.
    start("end-by-force", () -> {
      try {
        Thread.sleep(STOP_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      Runtime.getRuntime().halt(1);
    });
    System.exit(0);
  }

  private static void start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }
}
