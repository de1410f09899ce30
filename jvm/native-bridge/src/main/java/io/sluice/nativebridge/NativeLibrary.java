package io.sluice.nativebridge;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finds the native library and loads it, once per class loader. Asking never throws: the answer says either
 * that {@link NativeCore} may be called, or why not.
 *
 * <p>Looked for in order: the configured path, the system property {@value #PROPERTY} (tests), the jar's
 * resource for this platform. What is loaded is always a private copy that is deleted at once, because one
 * file cannot be loaded by two class loaders of a process. All methods may be called from any thread.
 */
public final class NativeLibrary {
  /** System property with the path of the library, used when no path is configured. */
  public static final String PROPERTY = "sluice.native.library";

  static final String FILE = "libsluice_jni.so";

  private static final Map<String, Status> ANSWERS = new ConcurrentHashMap<>();

  private NativeLibrary() {}

  /**
   * What came of looking for the library.
   *
   * @param available whether {@link NativeCore} may be called
   * @param detail what was loaded and from where, or the reason why not, for a log line
   */
  public record Status(boolean available, String detail) {
    static Status missing(String reason) {
      return new Status(false, reason);
    }
  }

  /**
   * Loads the library if that was not done yet. The same path gets the same answer for the life of the process.
   *
   * @param configuredPath a file, or empty
   */
  public static Status load(String configuredPath) {
    String path = configuredPath.isEmpty() ? System.getProperty(PROPERTY, "") : configuredPath;
    return ANSWERS.computeIfAbsent(path, NativeLibrary::loadFirstTime);
  }

  private static Status loadFirstTime(String path) {
    Platform platform = Platform.current();
    String unsupported = platform.unsupportedReason();
    if (unsupported != null) {
      return Status.missing(unsupported);
    }
    try (InputStream library = open(path, platform)) {
      if (library == null) {
        return Status.missing("the jar was built without a native library for " + platform.name());
      }
      loadCopy(library, platform);
      String source = path.isEmpty() ? "the jar" : path;
      Status status = checkAbi(NativeCore.abiVersion(), source);
      return status.available() ? checkLayout(status, NativeTransport.statisticNames(), source) : status;
    } catch (IOException | LinkageError | RuntimeException e) {
      return Status.missing("loading the native library from " + (path.isEmpty() ? "the jar" : path) + " failed: " + e);
    }
  }

  private static InputStream open(String path, Platform platform) throws IOException {
    return path.isEmpty()
        ? NativeLibrary.class.getResourceAsStream("/io/sluice/native/" + platform.name() + "/" + FILE)
        : Files.newInputStream(Path.of(path));
  }

  /** Linux keeps a deleted file's pages as long as they are mapped, so nothing is left behind. */
  private static void loadCopy(InputStream library, Platform platform) throws IOException {
    Path directory = Files.createTempDirectory("sluice-native-");
    Path copy = directory.resolve(FILE);
    try {
      Files.copy(library, copy);
      String fault = ElfFile.fault(copy, platform.arch());
      if (fault != null) {
        throw new UnsatisfiedLinkError(fault);
      }
      System.load(copy.toString());
    } finally {
      Files.deleteIfExists(copy);
      Files.deleteIfExists(directory);
    }
  }

  static Status checkLayout(Status status, String statisticNames, String source) {
    String error = TransportStatistics.layoutError(statisticNames);
    return error == null
        ? status
        : Status.missing("the native library from " + source + " is of another build: " + error);
  }

  static Status checkAbi(int found, String source) {
    return found == NativeCore.ABI_VERSION
        ? new Status(true, NativeCore.describe() + ", from " + source)
        : Status.missing("the native library from " + source + " has ABI version " + found
            + ", this jar needs " + NativeCore.ABI_VERSION);
  }
}
