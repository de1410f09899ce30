package io.sluice.spark.write;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;

/** What lies in the local directories of this process's block manager. */
final class ShuffleFiles {
  private ShuffleFiles() {}

  static List<Path> directories() {
    return Arrays.stream(SparkEnv.get().blockManager().diskBlockManager().localDirs()).map(File::toPath).toList();
  }

  /** Files whose name starts so. */
  static List<Path> named(String start) {
    return directories().stream().flatMap(ShuffleFiles::files)
        .filter(file -> file.getFileName().toString().startsWith(start)).toList();
  }

  /** Spill files and half-written outputs: names with a random part. */
  static List<Path> temporary() {
    return directories().stream().flatMap(ShuffleFiles::files)
        .filter(file -> file.getFileName().toString().matches("temp_shuffle_.*|shuffle_.*\\.[0-9a-f-]{36}")).toList();
  }

  private static Stream<Path> files(Path directory) {
    try (Stream<Path> files = Files.walk(directory)) {
      return files.filter(Files::isRegularFile).toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
