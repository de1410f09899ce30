package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** A text in records of encrypted shuffles, which is nowhere but in the memory of the executors. */
final class Marker {
  static final String TEXT = "S3CR3T-MARKER";

  private Marker() {}

  static boolean isIn(Path file) throws IOException {
    return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1).contains(TEXT);
  }

  /** There are files, and the text is in none of them; files that Spark's cleaner removes meanwhile do not count. */
  static void assertInNone(List<Path> files) throws IOException {
    int searched = 0;
    for (Path file : files) {
      try {
        assertFalse(isIn(file), file::toString);
        searched++;
      } catch (NoSuchFileException e) {
        // its shuffle was removed since the files were listed
      }
    }
    assertTrue(searched > 0, () -> "no file left of " + files);
  }
}
