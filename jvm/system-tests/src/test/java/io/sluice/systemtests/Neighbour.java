package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A library that users run beside Sluice in one application. While it is open, applications that this thread starts
 * load its classes. {@code jvm/system-tests/neighbours/pom.xml} has the versions, and which Spark lines they are for.
 */
final class Neighbour implements AutoCloseable {
  /** Kept while the process runs: Spark keeps objects of their classes in static fields. */
  private static final Map<String, ClassLoader> LOADED = new HashMap<>();

  private final List<URL> urls;
  private final ClassLoader before = Thread.currentThread().getContextClassLoader();

  private Neighbour(ClassLoader classes, List<URL> urls) {
    this.urls = urls;
    Thread.currentThread().setContextClassLoader(classes);
  }

  /** Loads the jars of {@code name}; skips the test if there is no build for the Spark line under test. */
  static Neighbour load(String name) {
    Path home = Path.of(System.getProperty("neighbours.home"));
    assertTrue(Files.exists(home.resolve(".complete")),
        () -> "the neighbours' jars are not in " + home + "; ./sluice test --all puts them there");
    Path folder = home.resolve(name);
    assumeTrue(Files.isDirectory(folder), () -> name + " has no build for this Spark line: " + home.getFileName());
    List<URL> urls = jars(folder);
    return new Neighbour(LOADED.computeIfAbsent(name,
        key -> new URLClassLoader(urls.toArray(new URL[0]), Neighbour.class.getClassLoader())), urls);
  }

  /** Its jars, as in a class path. */
  String classPath() {
    return urls.stream().map(URL::getPath).collect(Collectors.joining(":"));
  }

  private static List<URL> jars(Path folder) {
    List<URL> jars = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*.jar")) {
      for (Path file : files) {
        jars.add(file.toUri().toURL());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    assertTrue(!jars.isEmpty(), () -> folder + " is empty");
    return jars;
  }

  @Override
  public void close() {
    Thread.currentThread().setContextClassLoader(before);
  }
}
