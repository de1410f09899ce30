package io.sluice.bench.run;

import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.TableFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * A folder of generated tables of one benchmark, one subfolder per scale. Tables are whole if the marker is beside
 * them, which is written last; others, of a generation that was interrupted or of another version, are made anew. A
 * lock keeps processes that share the folder from making the same tables twice.
 */
final class TableCache {

  private static final String MARKER = "COMPLETE";

  private final Path folder;

  TableCache(Path folder) {
    this.folder = folder;
  }

  /**
   * The tables of {@code benchmark} at {@code scale}, made by {@code make} into their empty folder if they are not
   * there.
   */
  TableFiles tables(Benchmark benchmark, double scale, Consumer<TableFiles> make) {
    TableFiles tables = TableFiles.below(folder, benchmark, scale);
    Path own = Path.of(tables.folder());
    try {
      Files.createDirectories(folder);
      try (FileChannel channel = FileChannel.open(folder.resolve(".lock"), StandardOpenOption.CREATE,
          StandardOpenOption.WRITE);
          FileLock ignored = channel.lock()) {
        if (!isComplete(own, benchmark.version())) {
          delete(own);
          Files.createDirectories(own);
          make.accept(tables);
          Files.writeString(own.resolve(MARKER), benchmark.version());
        }
      }
      return tables;
    } catch (IOException e) {
      throw new UncheckedIOException("the tables in " + own + " cannot be made", e);
    }
  }

  private static boolean isComplete(Path tables, String version) throws IOException {
    Path marker = tables.resolve(MARKER);
    return Files.exists(marker) && Files.readString(marker).equals(version);
  }

  private static void delete(Path tables) throws IOException {
    if (Files.exists(tables)) {
      // The marker goes first, or what is left by an interrupted deletion would count as whole.
      Files.deleteIfExists(tables.resolve(MARKER));
      try (Stream<Path> paths = Files.walk(tables)) {
        for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(path);
        }
      }
    }
  }
}
