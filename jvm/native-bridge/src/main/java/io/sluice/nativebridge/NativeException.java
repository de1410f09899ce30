package io.sluice.nativebridge;

import java.io.File;
import java.util.Optional;

/** A negative result of the native core, as an exception. */
public final class NativeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int reason;
  /** Null when no directory is concerned. */
  private final File failedDirectory;

  public NativeException(int reason, String message) {
    this(reason, message, null);
  }

  private NativeException(int reason, String message, File failedDirectory) {
    super(message);
    this.reason = reason;
    this.failedDirectory = failedDirectory;
  }

  /** One of the negative constants of {@link NativeCore}. */
  public int reason() {
    return reason;
  }

  /**
   * The directory in which a file could not be written, where another directory may help: with {@link
   * NativeCore#DISK_FULL} and {@link NativeCore#DIRECTORY_FAILED} of the native core.
   */
  public Optional<File> failedDirectory() {
    return Optional.ofNullable(failedDirectory);
  }

  /** Whether the write may succeed in another directory. */
  public boolean isDirectoryFailure() {
    return reason == NativeCore.DISK_FULL || reason == NativeCore.DIRECTORY_FAILED;
  }

  /** Whether a result says that a file could not be written or read. */
  public static boolean isFileFailure(long result) {
    return result == NativeCore.IO || result == NativeCore.DISK_FULL || result == NativeCore.DIRECTORY_FAILED;
  }

  /** Returns {@code result} if it is one, else throws it with the native core's message. */
  public static long check(long result) {
    if (result < 0) {
      String directory = NativeCore.lastErrorDirectory();
      throw new NativeException(
          (int) result, NativeCore.lastErrorMessage(), directory.isEmpty() ? null : new File(directory));
    }
    return result;
  }
}
