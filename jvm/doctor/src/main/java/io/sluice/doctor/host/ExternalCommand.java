package io.sluice.doctor.host;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One program, started to ask it something. */
final class ExternalCommand {
  private ExternalCommand() {}

  /**
   * Its standard output; missing when it is not there, fails, or is not done within {@code limit}, after which it is
   * killed.
   */
  static Text run(Duration limit, String... command) {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD)
          .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null"))).start();
    } catch (IOException e) {
      return Text.missing(command[0] + " is not there");
    }
    // Read on another thread: a program that hangs without closing its output must not hang this one.
    CompletableFuture<byte[]> output = CompletableFuture.supplyAsync(() -> readAll(process));
    try {
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        return Text.missing(command[0] + " did not answer within " + limit.toSeconds() + " s");
      }
      byte[] bytes = output.get(limit.toMillis(), TimeUnit.MILLISECONDS);
      return process.exitValue() == 0 ? Text.of(new String(bytes, StandardCharsets.UTF_8))
          : Text.missing(command[0] + " failed with exit code " + process.exitValue());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Text.missing(command[0] + " was interrupted");
    } catch (ExecutionException | TimeoutException e) {
      return Text.missing("the output of " + command[0] + " cannot be read");
    } finally {
      // A script's own children would outlive it (and do on Java 8, which does not know them).
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  private static byte[] readAll(Process process) {
    try {
      return process.getInputStream().readAllBytes();
    } catch (IOException e) {
      return new byte[0];
    }
  }
}
