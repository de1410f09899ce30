package io.sluice.systemtests;

import io.sluice.spark.SluicePlugin;
import io.sluice.spark.metrics.Counter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Runs {@link Streams} in a process of its own, with the Sluice that is on its class path. */
final class StreamsProgram {
  static final String VERSION = "version ";
  static final String SHUFFLES = "shuffles ";
  static final String ROW = "row ";
  static final String END = "end";

  private StreamsProgram() {}

  /** @param arguments the folder of the files and that of the checkpoints */
  public static void main(String[] arguments) {
    try (SparkApplication application = StreamingTest.application(Engine.UNDER_TEST).start()) {
      Map<String, List<String>> results =
          Streams.run(application.session(), Path.of(arguments[0]), Path.of(arguments[1]));
      System.out.println(VERSION + SluicePlugin.class.getPackage().getImplementationVersion());
      System.out.println(SHUFFLES + ProcessCounters.here(Counter.SHUFFLES_ROWS));
      results.forEach((name, rows) -> rows.forEach(row -> System.out.println(ROW + name + "\t" + row)));
      System.out.println(END);
    }
  }
}
