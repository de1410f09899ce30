package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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
  void cutLibraryIsRefusedBeforeItIsMapped() throws IOException {
    byte[] whole = header((short) 62, 4096);
    for (int bytes : new int[] {0, 63, 64, 5055}) {
      Path cut = Files.write(folder.resolve("cut-" + bytes + ".so"), Arrays.copyOf(whole, bytes));
      NativeLibrary.Status status = NativeLibrary.load(cut.toString());
      assertFalse(status.available());
      assertTrue(status.detail().contains(cut + " failed") && status.detail().contains(bytes + " bytes"),
          status.detail());
    }
    assertNull(ElfFile.fault(Files.write(folder.resolve("whole.so"), Arrays.copyOf(whole, 5056)), "x86_64"));
  }

  @Test
  void headerThatAsksForTooMuchIsRefused() throws IOException {
    for (long table : new long[] {0, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
      Path damaged = Files.write(folder.resolve("damaged.so"), Arrays.copyOf(header((short) 62, table), 5056));
      assertTrue(ElfFile.fault(damaged, "x86_64").startsWith("it is cut or damaged"));
    }
  }

  @Test
  void libraryOfAnotherMachineIsRefused() throws IOException {
    Path other = Files.write(folder.resolve("other.so"), Arrays.copyOf(header((short) 183, 4096), 5056));
    assertEquals("it is for another machine (ELF machine 183), this one is x86_64", ElfFile.fault(other, "x86_64"));
    assertNull(ElfFile.fault(other, "aarch64"));
  }

  /** An ELF-64 header with 15 section headers of 64 bytes at {@code table}. */
  private static byte[] header(short machine, long table) {
    ByteBuffer header = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
    header.putInt(0, 0x464C457F).put(4, (byte) 2).put(5, (byte) 1).putShort(18, machine).putLong(40, table)
        .putShort(58, (short) 64).putShort(60, (short) 15);
    return header.array();
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
