package io.sluice.spark.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JarBuildTest {
  private static final Map<String, String> ENTRIES = Map.of(
      "io/sluice/spark/A.class", "a", "META-INF/versions/17/io/sluice/spark/A.class", "a17",
      "META-INF/MANIFEST.MF", "Implementation-Version: 1", "com/user/B.class", "b", "io/sluice/native/lib.so", "n");

  @TempDir private Path folder;

  private String digest(Map<String, String> entries) throws IOException {
    Path jar = folder.resolve("some.jar");
    try (OutputStream out = Files.newOutputStream(jar); JarOutputStream file = new JarOutputStream(out)) {
      for (Map.Entry<String, String> entry : entries.entrySet()) {
        file.putNextEntry(new JarEntry(entry.getKey()));
        file.write(entry.getValue().getBytes(StandardCharsets.UTF_8));
      }
    }
    return JarBuild.digest(jar);
  }

  private String digestWith(String name, String content) throws IOException {
    Map<String, String> entries = new LinkedHashMap<>(ENTRIES);
    entries.put(name, content);
    return digest(entries);
  }

  @Test
  void everyClassOfSluiceCounts() throws IOException {
    String digest = digest(ENTRIES);
    assertTrue(digest.matches("[0-9a-f]{16}"), digest);
    assertNotEquals(digest, digestWith("io/sluice/spark/A.class", "x"));
    assertNotEquals(digest, digestWith("META-INF/versions/17/io/sluice/spark/A.class", "x"));
    assertNotEquals(digest, digestWith("io/sluice/New.class", "x"));
  }

  @Test
  void nothingElseCounts() throws IOException {
    String digest = digest(ENTRIES);
    for (String name : new String[] {"META-INF/MANIFEST.MF", "com/user/B.class", "io/sluice/native/lib.so", "x.txt"}) {
      assertEquals(digest, digestWith(name, "other"), name);
    }
    Map<String, String> inOtherOrder = new LinkedHashMap<>();
    ENTRIES.keySet().stream().sorted().forEach(name -> inOtherOrder.put(name, ENTRIES.get(name)));
    assertEquals(digest, digest(inOtherOrder));
  }

  @Test
  void itTravelsAsSettings() {
    JarBuild build = new JarBuild("1.2.3", "abc");
    assertEquals(Optional.of(build), JarBuild.fromSettings(build.toSettings()));
    assertEquals(Optional.empty(), JarBuild.fromSettings(Map.of()));
    assertTrue(build.worksWith(new JarBuild("4", "abc")));
    assertFalse(build.worksWith(new JarBuild("1.2.3", "abd")));
  }

  @Test
  void classesOfABuildAreInNoJar() {
    assertEquals("Sluice without a version (classes in no jar)", JarBuild.ofThisProcess().toString());
  }
}
