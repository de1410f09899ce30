package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every way in which the library cannot be used ends in a reason, never in an exception. */
class NativeLibraryTest {
  private static final Set<String> V2 = Set.of("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3", "avx2");

  @TempDir private Path folder;

  @Test
  void missingFileIsNamed() {
    String path = folder.resolve("absent.so").toString();
    NativeLibrary.Status status = NativeLibrary.load(path);
    assertFalse(status.available());
    assertTrue(status.detail().contains(path), status.detail());
    assertSame(status, NativeLibrary.load(path));
  }

  @Test
  void fileThatIsNoLibraryIsNamed() throws IOException {
    Path garbage = Files.writeString(folder.resolve("garbage.so"), "not an ELF file");
    NativeLibrary.Status status = NativeLibrary.load(garbage.toString());
    assertFalse(status.available());
    assertTrue(status.detail().contains(garbage.toString()) && status.detail().contains("UnsatisfiedLinkError"),
        status.detail());
  }

  @Test
  void otherAbiSaysBothVersions() {
    NativeLibrary.Status status = NativeLibrary.checkAbi(NativeCore.ABI_VERSION + 1, "/some/path");
    assertFalse(status.available());
    assertEquals("the native library from /some/path has ABI version " + (NativeCore.ABI_VERSION + 1)
        + ", this jar needs " + NativeCore.ABI_VERSION, status.detail());
  }

  @Test
  void foldersAreNamedAsCargoNamesTargets() {
    assertEquals("linux-x86_64", new Platform("linux", "x86_64", V2).name());
    assertNull(new Platform("linux", "x86_64", V2).unsupportedReason());
    assertNull(new Platform("linux", "x86_64", Set.of()).unsupportedReason());
    assertNull(new Platform("linux", "aarch64", Set.of("fp", "asimd")).unsupportedReason());
  }

  @Test
  void otherPlatformsAreUnsupported() {
    assertTrue(new Platform("linux", "ppc64le", Set.of()).unsupportedReason().contains("linux-ppc64le"));
    assertTrue(new Platform("mac_os_x", "x86_64", Set.of()).unsupportedReason().contains("mac_os_x-x86_64"));
  }

  @Test
  void oldProcessorIsUnsupported() {
    String reason = new Platform("linux", "x86_64", Set.of("sse2", "cx16", "ssse3")).unsupportedReason();
    assertTrue(reason.contains("[popcnt, sse4_1, sse4_2]") && reason.contains("x86-64-v2"), reason);
  }
}
