package io.sluice.java8;

import java.net.URI;
import java.nio.file.Path;
import java.nio.file.Paths;

/** For {@link Path}. */
public final class JavaNioFilePath {
  private JavaNioFilePath() {}

  public static Path of(String first, String... more) {
    return Paths.get(first, more);
  }

  public static Path of(URI uri) {
    return Paths.get(uri);
  }
}
