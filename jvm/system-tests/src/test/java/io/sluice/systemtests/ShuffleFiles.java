package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * Finds the files of committed map outputs below an application's local directory. Spark's cleaner may delete those of
 * an earlier shuffle at any moment; a file that is deleted while this class examines it is left out.
 */
final class ShuffleFiles {
  private static final int DELETE_ATTEMPTS = 100;

  private ShuffleFiles() {}

  /** Data files that hold at least one byte, in a stable order. */
  static List<Path> data(Path localDir) {
    return named(localDir, "shuffle_\\d+_\\d+_0\\.data").stream().filter(file -> size(file) > 0).toList();
  }

  /** The data files of the shuffle with the highest number. */
  static List<Path> newestShuffle(Path localDir) {
    List<Path> all = data(localDir);
    int newest = all.stream().mapToInt(ShuffleFiles::shuffleId).max().orElseThrow();
    return all.stream().filter(file -> shuffleId(file) == newest).toList();
  }

  private static int shuffleId(Path file) {
    return Integer.parseInt(file.getFileName().toString().split("_")[1]);
  }

  /** Files below {@code localDir} whose names match. */
  static List<Path> named(Path localDir, String regex) {
    List<Path> found = new ArrayList<>();
    try {
      Files.walkFileTree(localDir, new SimpleFileVisitor<>() {
        @Override
        public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
          return visitFile(folder, attributes);
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
          if (file.getFileName().toString().matches(regex)) {
            found.add(file);
          }
          return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
          if (failure instanceof NoSuchFileException) {
            return FileVisitResult.CONTINUE;
          }
          throw failure;
        }
      });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Collections.sort(found);
    return found;
  }

  /** The one folder directly or indirectly below {@code root} whose name matches. */
  static Path folder(Path root, String regex) {
    return named(root, regex).stream().filter(Files::isDirectory).findFirst().orElseThrow();
  }

  /** The index file beside a data file. */
  static Path index(Path localDir, Path data) {
    String name = data.getFileName().toString().replace(".data", ".index");
    return named(localDir, name.replace(".", "\\.")).get(0);
  }

  /** Bytes of {@code file}; 0 when it has gone. */
  static long size(Path file) {
    try {
      return Files.size(file);
    } catch (NoSuchFileException e) {
      return 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Deletes a folder from which executors that end may be deleting files, or to which they may still be adding some.
   */
  static void deleteTree(Path root) {
    for (int i = 1; Files.exists(root); i++) {
      try {
        deleteTreeOnce(root);
      } catch (NoSuchFileException | DirectoryNotEmptyException e) {
        if (i == DELETE_ATTEMPTS) {
          throw new UncheckedIOException(e);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static void deleteTreeOnce(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }
}
