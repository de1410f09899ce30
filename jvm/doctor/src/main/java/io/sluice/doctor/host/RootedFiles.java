package io.sluice.doctor.host;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The files of a machine below a root folder: {@code /}, or a test's. */
public final class RootedFiles {
  /** More than any file of {@code /proc} that is looked at; a file that is no text stops here. */
  private static final int MAX_BYTES = 1 << 20;

  private final Path root;

  public RootedFiles(Path root) {
    this.root = root;
  }

  public Path at(String path) {
    return root.resolve(path.startsWith("/") ? path.substring(1) : path);
  }

  public Text read(String path) {
    try (InputStream in = Files.newInputStream(at(path))) {
      return Text.of(new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8));
    } catch (IOException | RuntimeException e) {
      return Text.missing(reason(path, e));
    }
  }

  public List<String> list(String path) {
    try (Stream<Path> entries = Files.list(at(path))) {
      return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
    } catch (IOException | RuntimeException e) {
      return List.of();
    }
  }

  public boolean exists(String path) {
    return Files.exists(at(path));
  }

  public Text link(String path) {
    try {
      return Text.of(Files.readSymbolicLink(at(path)).toString());
    } catch (IOException | RuntimeException e) {
      return Text.missing(reason(path, e));
    }
  }

  public String resolve(String path) {
    try {
      Path real = at(path).toRealPath();
      Path realRoot = root.toRealPath();
      return real.startsWith(realRoot) ? "/" + realRoot.relativize(real) : real.toString();
    } catch (IOException | RuntimeException e) {
      return path;
    }
  }

  private static String reason(String path, Exception e) {
    if (e instanceof NoSuchFileException) {
      return "there is no " + path;
    }
    return path + (e instanceof AccessDeniedException ? " may not be read" : " cannot be read: " + e.getMessage());
  }
}
