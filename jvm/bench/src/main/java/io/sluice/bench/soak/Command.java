package io.sluice.bench.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Programs of the system that faults are made with. */
final class Command {

  private static final long SECONDS = 60;

  private Command() {}

  /**
   * Runs {@code command} on {@code target}; it must succeed unless that process has ended.
   *
   * @throws UncheckedIOException if it cannot be run, fails or takes more than a minute
   */
  static void run(ProcessHandle target, String... command) throws InterruptedException {
    run(target, List.of(command));
  }

  /** The same. */
  static void run(ProcessHandle target, List<String> command) throws InterruptedException {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
      if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
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

  /**
   * What {@code command} prints, run in {@code folder}.
   *
   * @throws IOException with that, if it cannot be run, fails or takes more than a minute
   */
  static String output(Path folder, List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    process.getOutputStream().close();
    // What it says fits into the pipe; reading first would have no limit.
    if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IOException(command.get(0) + " took more than a minute");
    }
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    if (process.exitValue() != 0) {
      throw new IOException(command.get(0) + " failed: " + output.lines().findFirst().orElse("it said nothing"));
    }
    return output;
  }
}
