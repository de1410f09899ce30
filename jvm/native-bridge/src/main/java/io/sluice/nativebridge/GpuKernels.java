package io.sluice.nativebridge;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The kernels that came with the jar, unpacked for as long as {@link NativeGpu#open} takes to load those for its
 * device. Not thread-safe.
 */
public final class GpuKernels implements AutoCloseable {
  /** System property with a folder of kernels, used in place of the jar's (tests). */
  public static final String PROPERTY = "sluice.gpu.kernels";

  private static final String RESOURCES = "/io/sluice/native/gpu/";
  /** What {@code tools/gpu-kernels} makes; a jar that was built without it has none of them. */
  private static final List<String> FILES =
      List.of("sm_75.cubin", "sm_80.cubin", "sm_90.cubin", "sm_100.cubin", "sm_120.cubin", "compute_75.ptx");

  private final Path folder;
  private final boolean temporary;

  private GpuKernels(Path folder, boolean temporary) {
    this.folder = folder;
    this.temporary = temporary;
  }

  /**
   * Unpacks the kernels to a new temporary folder, which is empty if the jar was built without them.
   *
   * @throws IOException when the folder cannot be written; nothing is left in it
   */
  public static GpuKernels unpack() throws IOException {
    String configured = System.getProperty(PROPERTY, "");
    if (!configured.isEmpty()) {
      return new GpuKernels(Path.of(configured), false);
    }
    GpuKernels unpacked = new GpuKernels(Files.createTempDirectory("sluice-gpu-"), true);
    try {
      for (String file : FILES) {
        unpacked.copy(file);
      }
      return unpacked;
    } catch (IOException | RuntimeException e) {
      unpacked.close();
      throw e;
    }
  }

  private void copy(String file) throws IOException {
    try (InputStream kernels = GpuKernels.class.getResourceAsStream(RESOURCES + file)) {
      if (kernels != null) {
        Files.copy(kernels, folder.resolve(file));
      }
    }
  }

  /** The folder, as {@link NativeGpu#open} takes it. */
  public String folder() {
    return folder.toString();
  }

  /** Deletes the files; kernels that were loaded from them stay loaded. */
  @Override
  public void close() throws IOException {
    if (temporary) {
      for (String file : FILES) {
        Files.deleteIfExists(folder.resolve(file));
      }
      Files.deleteIfExists(folder);
    }
  }
}
