package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JarVersionsTest {
  private static final String CLASS_FILE = "io/sluice/some/Marker.class";

  @TempDir private Path folder;

  private Path jar(String name, String version) throws IOException {
    Path jar = folder.resolve(name);
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    if (version != null) {
      manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
    }
    try (OutputStream out = Files.newOutputStream(jar); JarOutputStream entries = new JarOutputStream(out, manifest)) {
      entries.putNextEntry(new JarEntry(CLASS_FILE));
    }
    return jar;
  }

  private static URLClassLoader loader(ClassLoader parent, Path... jars) {
    return new URLClassLoader(Arrays.stream(jars).map(JarVersionsTest::url).toArray(URL[]::new), parent);
  }

  private static URL url(Path file) {
    try {
      return file.toUri().toURL();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static String refusal(ClassLoader... loaders) {
    return assertThrows(SluiceException.class, () -> JarVersions.requireOne(CLASS_FILE, List.of(loaders))).getMessage();
  }

  @Test
  void twoVersionsAreRefusedAndEachJarNamed() throws IOException {
    Path first = jar("sluice-1.0.jar", "1.0");
    Path second = jar("renamed.jar", "2.0");
    try (URLClassLoader both = loader(null, first, second)) {
      String message = refusal(both);
      assertTrue(message.contains("1.0 in " + first) && message.contains("2.0 in " + second), message);
      assertTrue(message.contains("spark.jars") && message.contains("extraClassPath"), message);
    }
  }

  @Test
  void theClassPathAndTheApplicationsJarsCount() throws IOException {
    try (URLClassLoader system = loader(null, jar("system.jar", "1.0"));
        URLClassLoader application = loader(system, jar("application.jar", "1.1"));
        URLClassLoader beside = loader(null, jar("beside.jar", "1.2"))) {
      assertTrue(refusal(application).contains("1.1 in "));
      assertTrue(refusal(system, beside).contains("1.2 in "));
      JarVersions.requireOne(CLASS_FILE, List.of(system));
    }
  }

  @Test
  void theSameVersionTwiceIsNoError() throws IOException {
    try (URLClassLoader both = loader(null, jar("one.jar", "1.0"), jar("copy.jar", "1.0"));
        URLClassLoader again = loader(both, folder.resolve("one.jar"))) {
      JarVersions.requireOne(CLASS_FILE, List.of(both, again, both));
      // The class loaders' own files are still open.
      assertEquals(0, both.getResourceAsStream(CLASS_FILE).readAllBytes().length);
    }
  }

  @Test
  void aJarWithoutAVersionIsAnotherVersion() throws IOException {
    try (URLClassLoader both = loader(null, jar("one.jar", "1.0"), jar("bare.jar", null))) {
      assertTrue(refusal(both).contains("one without a version in " + folder.resolve("bare.jar")));
    }
  }

  @Test
  void classesOfABuildHaveNoVersion() throws IOException {
    Path classes = folder.resolve("classes");
    Files.createDirectories(classes.resolve(CLASS_FILE).getParent());
    Files.createFile(classes.resolve(CLASS_FILE));
    try (URLClassLoader both = loader(null, classes, jar("one.jar", "1.0"))) {
      JarVersions.requireOne(CLASS_FILE, List.of(both));
    }
    JarVersions.requireOne();
  }
}
