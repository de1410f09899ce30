package io.sluice.java8.build;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClassRewriterTest {
  private static final Path TESTS = folderOf(Fixture.class);
  private static final Path MAIN = folderOf(Main.class);
  private static final int VERSION_OFFSET = 7;

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(ints = {8, 11})
  void rewrittenClassesGiveTheSameOutput(int release) throws Exception {
    Map<String, byte[]> rewritten = ClassRewriter.rewrite(release, classes(TESTS, "Fixture"), replacements());
    for (byte[] bytes : rewritten.values()) {
      assertEquals(44 + release, bytes[VERSION_OFFSET]);
    }
    Supplier<?> older =
        (Supplier<?>) new Loader(rewritten).loadClass(Fixture.class.getName()).getConstructor().newInstance();
    assertEquals(new Fixture().get(), older.get());
  }

  @Test
  void unknownApiEndsTheBuildAndIsNamed() {
    RewriteException refused = assertThrows(RewriteException.class,
        () -> ClassRewriter.rewrite(8, classes(TESTS, "UnknownApi"), replacements()));
    assertTrue(
        refused.getMessage().contains("io.sluice.java8.build.UnknownApi uses java/lang/StackWalker.getInstance()"),
        refused.getMessage());
  }

  @Test
  void jarHasOriginalAndRewrittenClasses() throws IOException {
    Path jar = folder.resolve("some.jar");
    byte[] original = Files.readAllBytes(TESTS.resolve("io/sluice/java8/build/Fixture$Square.class"));
    String name = "io/sluice/java8/build/Fixture$Square.class".replace("java8/build", "elsewhere");
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
      for (Map.Entry<String, byte[]> entry : classes(MAIN, "Records").entrySet()) {
        put(out, entry.getKey(), entry.getValue());
      }
      put(out, name, original);
      put(out, "some.txt", new byte[] {42});
    }
    Main.jar(jar);
    try (JarFile result = new JarFile(jar.toFile())) {
      assertTrue(result.isMultiRelease());
      assertEquals(52, read(result, name)[VERSION_OFFSET]);
      assertEquals(List.of(original.length, 1), List.of(read(result, "META-INF/versions/17/" + name).length,
          read(result, "some.txt").length));
      assertEquals(null, result.getEntry("META-INF/versions/17/io/sluice/java8/Records.class"));
    }
    assertThrows(IOException.class, () -> Main.jar(jar), "a second time");
  }

  private static void put(JarOutputStream out, String name, byte[] bytes) throws IOException {
    out.putNextEntry(new ZipEntry(name));
    out.write(bytes);
  }

  private static byte[] read(JarFile jar, String name) throws IOException {
    try (InputStream in = jar.getInputStream(jar.getEntry(name))) {
      return in.readAllBytes();
    }
  }

  private static List<byte[]> replacements() throws IOException {
    return List.copyOf(classes(MAIN, "").values());
  }

  /** The class files whose simple name begins so, by name; not those of the tool itself. */
  private static Map<String, byte[]> classes(Path root, String prefix) throws IOException {
    Map<String, byte[]> found = new LinkedHashMap<>();
    try (Stream<Path> files = Files.walk(root.resolve("io/sluice/java8"))) {
      for (Path file : files.filter(f -> f.getFileName().toString().matches(prefix + ".*\\.class")).sorted().toList()) {
        String name = root.relativize(file).toString();
        if (root.equals(TESTS) || !name.contains("/build/")) {
          found.put(name, Files.readAllBytes(file));
        }
      }
    }
    return found;
  }

  private static Path folderOf(Class<?> type) {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath());
  }

  /** Has the rewritten classes only; the replacements come from this test's loader. */
  private static final class Loader extends ClassLoader {
    private final Map<String, byte[]> classes;

    Loader(Map<String, byte[]> classes) {
      super(ClassRewriterTest.class.getClassLoader());
      this.classes = classes;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      byte[] bytes = classes.get(name.replace('.', '/') + ".class");
      Class<?> loaded = findLoadedClass(name);
      if (bytes == null || loaded != null) {
        return loaded != null ? loaded : super.loadClass(name, resolve);
      }
      return defineClass(name, bytes, 0, bytes.length);
    }
  }
}
