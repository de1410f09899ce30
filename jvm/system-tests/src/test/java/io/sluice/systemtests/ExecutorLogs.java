package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The logs of an application's executors, each in a file of its own in a folder. */
final class ExecutorLogs {
  private final Path folder;

  private ExecutorLogs(Path folder) {
    this.folder = folder;
  }

  /** Logs in an empty folder {@code name}, where they stay after the application has ended. */
  static ExecutorLogs in(String name) {
    Path folder = SparkApplication.workDir().resolve(name);
    ShuffleFiles.deleteTree(folder);
    return new ExecutorLogs(folder);
  }

  /** The settings that an application needs for it. */
  Map<String, String> settings() {
    // Spark replaces {{EXECUTOR_ID}} by the executor's id.
    return Map.of("spark.executor.extraJavaOptions",
        "-Dlog4j2.configurationFile=" + System.getProperty("log4j2.configurationFile")
            + " -Dlog4j2.logFile=" + folder + "/executor-{{EXECUTOR_ID}}.log");
  }

  /** The lines of all executors that contain {@code text}. */
  List<String> lines(String text) {
    List<String> lines = new ArrayList<>();
    for (Path file : ShuffleFiles.named(folder, "executor-\\d+\\.log")) {
      String name = file.getFileName().toString();
      lines.addAll(lines(name.substring("executor-".length(), name.length() - ".log".length()), text));
    }
    return lines;
  }

  /** The lines of one executor that contain {@code text}. */
  List<String> lines(String executorId, String text) {
    try {
      return Files.readAllLines(folder.resolve("executor-" + executorId + ".log")).stream()
          .filter(line -> line.contains(text)).toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
