package io.sluice.bench.run;

import io.sluice.bench.tables.GeneratedTable;
import io.sluice.bench.tables.TableFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The generated tables of one benchmark at one scale, kept for later runs. A table is whole if the marker beside the
 * tables names it, which is written after it; others, of a generation that was interrupted or of another version, are
 * made anew. A lock keeps processes that share the folder from making the same tables twice.
 */
final class TableCache {

  /** The version, then the names of the tables that are whole, a line each; no names if all are. */
  private static final String MARKER = "COMPLETE";

  private final TableFiles tables;
  private final Path folder;

  TableCache(TableFiles tables) {
    this.tables = tables;
    this.folder = Path.of(tables.folder());
  }

  /** Lets {@code make} make those tables of {@code wanted} that are not whole; nothing of them is there before. */
  void ensure(Collection<String> wanted, Consumer<List<String>> make) {
    try {
      Files.createDirectories(folder.getParent());
      try (FileChannel channel = FileChannel.open(folder.resolveSibling(".lock"), StandardOpenOption.CREATE,
          StandardOpenOption.WRITE);
          FileLock ignored = channel.lock()) {
        Set<String> whole = whole();
        List<String> missing = wanted.stream().filter(name -> !whole.contains(name)).toList();
        if (!missing.isEmpty()) {
          for (String name : missing) {
            delete(folder.resolve(name));
          }
          make.accept(missing);
          whole.addAll(missing);
          mark(whole);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("the tables in " + folder + " cannot be made", e);
    }
  }

  /** The names of the tables that are whole; leaves a folder in which nothing else counts. */
  private Set<String> whole() throws IOException {
    Path marker = folder.resolve(MARKER);
    List<String> lines = Files.exists(marker) ? Files.readAllLines(marker) : List.of();
    if (lines.isEmpty() || !lines.get(0).equals(tables.benchmark().version())) {
      // The marker goes first, or what is left by an interrupted deletion would count as whole.
      Files.deleteIfExists(marker);
      delete(folder);
      Files.createDirectories(folder);
      return new LinkedHashSet<>();
    }
    return new LinkedHashSet<>(lines.size() == 1 ? allNames() : lines.subList(1, lines.size()));
  }

  private void mark(Set<String> whole) throws IOException {
    List<String> lines = new ArrayList<>(List.of(tables.benchmark().version()));
    if (!whole.containsAll(allNames())) {
      lines.addAll(whole);
    }
    Path fresh = folder.resolve(MARKER + ".new");
    Files.writeString(fresh, String.join("\n", lines));
    Files.move(fresh, folder.resolve(MARKER), StandardCopyOption.ATOMIC_MOVE);
  }

  private List<String> allNames() {
    return tables.benchmark().tables().stream().map(GeneratedTable::label).toList();
  }

  private static void delete(Path folder) throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> paths = Files.walk(folder)) {
        for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(path);
        }
      }
    }
  }
}
