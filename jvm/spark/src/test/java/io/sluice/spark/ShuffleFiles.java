package io.sluice.spark;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkEnv;

/**
 * The files in the local directories of this process's block manager. Tasks may be making and deleting files meanwhile.
 */
public final class ShuffleFiles {
  private ShuffleFiles() {}

  public static List<Path> directories() {
    return Arrays.stream(SparkEnv.get().blockManager().diskBlockManager().localDirs()).map(File::toPath).toList();
  }

  /** Every file and link. */
  public static List<Path> all() {
    Collector collector = new Collector();
    for (Path directory : directories()) {
      try {
        Files.walkFileTree(directory, collector);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return collector.found;
  }

  /** Files and links whose name starts so. */
  public static List<Path> named(String start) {
    return all().stream().filter(file -> file.getFileName().toString().startsWith(start)).toList();
  }

  /** Spill files and half-written outputs: names with a random part. */
  public static List<Path> temporary() {
    return all().stream()
        .filter(file -> file.getFileName().toString().matches("temp_shuffle_.*|shuffle_.*\\.[0-9a-f-]{36}")).toList();
  }

  private static final class Collector extends SimpleFileVisitor<Path> {
    private final List<Path> found = new ArrayList<>();

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      found.add(file);
      return FileVisitResult.CONTINUE;
    }

    /** A path that was deleted after it was listed is no file. */
    @Override
    public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
      if (failure instanceof NoSuchFileException) {
        return FileVisitResult.CONTINUE;
      }
      throw failure;
    }
  }
}
