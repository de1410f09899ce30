package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.sluice.nativebridge.BundledUcx;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The libraries in the jar are unpacked where nobody else can replace them, and are gone when they are loaded. */
@Tag("once")
class ExtractedLibrariesTest {
  @TempDir private Path folder;

  @Test
  void theNativeLibraryLeavesNothingBehind() throws Exception {
    Path jar = Path.of(BundledUcx.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Djava.io.tmpdir=" + folder, "-XX:-UsePerfData", "-jar", jar.toString(), "doctor", "--json", "--local-dirs",
        folder.toString())
        .redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(1, TimeUnit.MINUTES), "java -jar does not end");
    assertTrue(output.contains("from the jar"), "the library was not loaded: " + output);
    assertEquals(List.of(), names());
  }

  @Test
  void ucxLiesInADirectoryOfItsOwnerWithANameThatNobodyKnowsBefore() throws IOException {
    Path first;
    try (BundledUcx one = BundledUcx.unpack(); BundledUcx other = BundledUcx.unpack()) {
      assumeFalse(one.folder().isEmpty(), "the jar has no UCX");
      first = Path.of(one.folder());
      assertNotEquals(one.folder(), other.folder());
      assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(first)));
      assertTrue(Files.isRegularFile(first.resolve("libucp.so.0")));
    }
    assertFalse(Files.exists(first), "it is still there");
  }

  /** It opens CUDA's driver when it is loaded, so executors that use no GPU must not have it. */
  @Test
  void ucxHasItsModuleForGpusOnlyWhereItIsWanted() throws IOException {
    String module = "ucx/libuct_cuda.so.0";
    Path wanted;
    try (BundledUcx without = BundledUcx.unpack(); BundledUcx with = BundledUcx.unpack(true)) {
      assumeFalse(without.folder().isEmpty(), "the jar has no UCX");
      wanted = Path.of(with.folder());
      assertFalse(Files.exists(Path.of(without.folder()).resolve(module)));
      assertTrue(Files.isRegularFile(wanted.resolve(module)));
      assertTrue(Files.isRegularFile(wanted.resolve("ucx/libuct_cma.so.0")));
    }
    assertFalse(Files.exists(wanted), "it is still there");
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }
}
