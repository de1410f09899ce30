package io.sluice.spark.store;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Writes spills like the native core on a machine where some directories are full. */
public record DiskFault(List<Path> fullDirectories) {
  public static final int BYTES = 100;

  public static DiskFault in(Path... directories) {
    return new DiskFault(List.of(directories));
  }

  public long write(File file) {
    if (fullDirectories.stream().anyMatch(directory -> file.toPath().startsWith(directory))) {
      throw new NativeException(NativeCore.DISK_FULL, "writing " + file + ": No space left on device (os error 28)");
    }
    try {
      Files.write(file.toPath(), new byte[BYTES]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return BYTES;
  }
}
