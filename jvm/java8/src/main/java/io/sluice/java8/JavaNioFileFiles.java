package io.sluice.java8;

import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;

/** For {@link Files}. */
public final class JavaNioFileFiles {
  private JavaNioFileFiles() {}

  public static String readString(Path path) throws IOException {
    return readString(path, StandardCharsets.UTF_8);
  }

  public static String readString(Path path, Charset charset) throws IOException {
    return new String(Files.readAllBytes(path), charset);
  }

  public static Path writeString(Path path, CharSequence text, OpenOption... options) throws IOException {
    return Files.write(path, text.toString().getBytes(StandardCharsets.UTF_8), options);
  }
}
