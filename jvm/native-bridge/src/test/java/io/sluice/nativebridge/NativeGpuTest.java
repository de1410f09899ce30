package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A machine without a GPU, and what needs none. With a GPU, simulated: {@code SimulatedGpuTest}. */
class NativeGpuTest {
  @TempDir private Path folder;

  @BeforeAll
  static void load() {
    NativeLibrary.Status status = NativeLibrary.load("");
    assertTrue(status.available(), status.detail());
  }

  @Test
  void statisticsHaveTheNamesOfTheNativeCore() {
    assertEquals(String.join(",", NativeGpu.STATISTICS), NativeGpu.statisticNames());
  }

  @Test
  void withoutADriverThereIsNothingToUse() {
    String absent = folder.resolve("libcuda.so.1").toString();
    assertEquals(NativeTransport.NOT_FOUND, NativeGpu.probe(absent, ""));
    assertTrue(NativeCore.lastErrorMessage().contains("no usable CUDA driver at " + absent),
        NativeCore.lastErrorMessage());
    assertEquals(NativeTransport.NOT_FOUND, NativeGpu.open(absent, "0", folder.toString(), true, 0, 0, 1, 0, 1, 1000,
        NativeCore.CODEC_LZ4, NativeCore.LEVEL_FAST));
  }

  @Test
  void aFileThatIsNoDriverIsNone() throws IOException {
    Path file = Files.write(folder.resolve("libcuda.so.1"), new byte[1000]);
    assertEquals(NativeTransport.NOT_FOUND, NativeGpu.probe(file.toString(), ""));
  }

  @Test
  void aClosedHandleIsStale() {
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.close(1L << 32));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.wants(1L << 32, 1, 1, 1));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.statistics(1L << 32, new long[NativeGpu.STATISTICS.size()]));
    assertNull(NativeGpu.lost(1L << 32));
    assertNull(NativeGpu.failure(1L << 32));
    assertNull(NativeGpu.lacksLanes(1L << 32));
    assertNull(NativeGpu.lacksCache(1L << 32, 1));
    assertEquals(NativeCore.STALE_HANDLE,
        NativeGpu.keepCopy(1L << 32, 1, 1, "/absent", new long[] {1}, true, false));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.hostCopyMoved(1L << 32, 1, 1, true));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.forgetShuffle(1L << 32, 1));
    long writer = NativeException.check(
        NativeCore.writerOpen(1, NativeCore.CODEC_LZ4, NativeCore.LEVEL_FAST, false, null, null));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.encodeFor(1L << 32, writer));
    assertEquals(0, NativeCore.writerWaitingForAccelerator(writer));
    assertEquals(0, NativeCore.writerAcceleratedBatches(writer));
    assertEquals(0, NativeCore.writerClose(writer));
    assertEquals(NativeCore.STALE_HANDLE, NativeCore.writerWaitingForAccelerator(writer));
    assertEquals(NativeCore.STALE_HANDLE, NativeCore.writerAcceleratedBatches(writer));
  }

  @Test
  void aSortIsEndedOnce() {
    long sort = NativeGpu.beginSort();
    assertTrue(sort > 0);
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.sortPairs(1L << 32, sort, null, 8, 8, 1, 0, 7));
    assertEquals(0, NativeGpu.endSort(sort));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.endSort(sort));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.wantsPairs(1L << 32, 1, 0, 7));
    assertEquals(NativeCore.STALE_HANDLE, NativeGpu.pairsSortedByCpu(1L << 32, 1, 0, 7, 1));
    assertEquals(NativeCore.INVALID, NativeGpu.wantsPairs(1L << 32, 1, 0, 8));
  }

  /** Those of the jar; in these tests there is none, so the folder is empty. */
  @Test
  void kernelsAreUnpackedForAWhile() throws IOException {
    Path unpacked;
    try (GpuKernels kernels = GpuKernels.unpack()) {
      unpacked = Path.of(kernels.folder());
      assertTrue(Files.isDirectory(unpacked));
    }
    assertFalse(Files.exists(unpacked));
  }

  @Test
  void aFolderThatIsNamedIsUsedAsItIs() throws IOException {
    Files.write(folder.resolve("sm_90.cubin"), new byte[8]);
    System.setProperty(GpuKernels.PROPERTY, folder.toString());
    try (GpuKernels kernels = GpuKernels.unpack()) {
      assertEquals(folder.toString(), kernels.folder());
    } finally {
      System.clearProperty(GpuKernels.PROPERTY);
    }
    assertTrue(Files.exists(folder.resolve("sm_90.cubin")));
  }
}
