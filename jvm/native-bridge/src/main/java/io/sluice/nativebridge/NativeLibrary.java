package io.sluice.nativebridge;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finds the native library and loads it, once per class loader. {@link #load} never throws: its result says either that
 * {@link NativeCore} may be called, or why not.
 *
 * <p>The library is looked for in this order: the configured path, the system property {@value #PROPERTY} (tests), the
 * jar's resource for this platform. The configured file is loaded from its own path, so that no file has to be written
 * to {@code java.io.tmpdir} or executed from there. Otherwise a private copy is loaded and deleted at once. The copy is
 * made of the jar's resource; of the property's file, which may be rebuilt while it is mapped; and of the configured
 * file if another class loader of the process has loaded it, because only one class loader can load a file. All methods
 * may be called from any thread.
 */
public final class NativeLibrary {
  /** System property with the path of the library, used when no path is configured. */
  public static final String PROPERTY = "sluice.native.library";

  static final String FILE = "libsluice_jni.so";
  /** Part of the JVM's message when another class loader has loaded the file. */
  private static final String LOADED_ELSEWHERE = "already loaded in another classloader";
  private static final String OTHER_FOLDER =
      "set -Djava.io.tmpdir to another folder (in spark.executor.extraJavaOptions, "
          + "and for local mode spark.driver.extraJavaOptions), or spark.sluice.native.library to the path of "
          + "libsluice_jni.so on a file system that permits it";

  private static final Map<String, Status> ANSWERS = new ConcurrentHashMap<>();

  private NativeLibrary() {}

  /**
   * The result of looking for the library.
   *
   * @param available whether {@link NativeCore} may be called
   * @param detail what was loaded and from where, or the reason why not, for a log line
   */
  public record Status(boolean available, String detail) {
    static Status missing(String reason) {
      return new Status(false, reason);
    }

    /** The library was not looked for. */
    public static Status notLoaded(String why) {
      return new Status(false, why);
    }
  }

  /**
   * Loads the library at the first call; later calls with the same path return the same result for the life of the
   * process.
   *
   * @param configuredPath a file, or empty
   */
  public static Status load(String configuredPath) {
    String path = configuredPath.isEmpty() ? System.getProperty(PROPERTY, "") : configuredPath;
    return ANSWERS.computeIfAbsent(path, absent -> loadFirstTime(path, !configuredPath.isEmpty()));
  }

  private static Status loadFirstTime(String path, boolean inPlace) {
    Platform platform = Platform.current();
    String unsupported = platform.unsupportedReason();
    if (unsupported != null) {
      return Status.missing(unsupported);
    }
    String source = path.isEmpty() ? "the jar" : path;
    try {
      if (!(inPlace && loadInPlace(Path.of(path).toAbsolutePath(), platform)) && !loadCopy(path, platform)) {
        return Status.missing("the jar was built without a native library for " + platform.name());
      }
      Status status = checkAbi(NativeCore.abiVersion(), source);
      return status.available() ? checkLayout(status, NativeTransport.statisticNames(), source) : status;
    } catch (IOException | LinkageError | RuntimeException e) {
      return Status.missing("loading the native library from " + source + " failed: " + e);
    }
  }

  private static InputStream open(String path, Platform platform) throws IOException {
    return path.isEmpty()
        ? NativeLibrary.class.getResourceAsStream("/io/sluice/native/" + platform.name() + "/" + FILE)
        : Files.newInputStream(Path.of(path));
  }

  /** False when another class loader of this process has loaded the file. */
  private static boolean loadInPlace(Path file, Platform platform) throws IOException {
    checkFile(file, platform);
    try {
      System.load(file.toString());
      return true;
    } catch (UnsatisfiedLinkError e) {
      if (String.valueOf(e.getMessage()).contains(LOADED_ELSEWHERE)) {
        return false;
      }
      throw forbidsRunning(e) ? new UnsatisfiedLinkError(e.getMessage() + ". The file system of " + file.getParent()
          + " does not permit to run code (mounted noexec?): move the library to one that does, and set "
          + "spark.sluice.native.library to its path there") : e;
    }
  }

  private static void checkFile(Path file, Platform platform) throws IOException {
    String fault = ElfFile.fault(file, platform.arch());
    if (fault != null) {
      throw new UnsatisfiedLinkError(fault);
    }
  }

  /** What glibc's loader says when mmap refuses PROT_EXEC: EPERM on noexec mounts, EACCES by security modules. */
  private static boolean forbidsRunning(UnsatisfiedLinkError e) {
    String message = String.valueOf(e.getMessage());
    return message.contains("failed to map segment") || message.contains("cannot enable executable");
  }

  /** False when the jar has no library for this platform. */
  private static boolean loadCopy(String path, Platform platform) throws IOException {
    try (InputStream library = open(path, platform)) {
      if (library == null) {
        return false;
      }
      loadCopy(library, platform);
      return true;
    }
  }

  /** The copy is deleted at once: Linux keeps the pages of a deleted file as long as they are mapped. */
  private static void loadCopy(InputStream library, Platform platform) throws IOException {
    Path directory = temporaryDirectory();
    Path copy = directory.resolve(FILE);
    try {
      Files.copy(library, copy);
      checkFile(copy, platform);
      System.load(copy.toString());
    } catch (UnsatisfiedLinkError e) {
      throw forbidsRunning(e) ? new UnsatisfiedLinkError(e.getMessage() + ". The folder java.io.tmpdir = "
          + directory.getParent() + " does not permit to run code (mounted noexec?): " + OTHER_FOLDER) : e;
    } finally {
      Files.deleteIfExists(copy);
      Files.deleteIfExists(directory);
    }
  }

  private static Path temporaryDirectory() throws IOException {
    try {
      return Files.createTempDirectory("sluice-native-");
    } catch (IOException e) {
      throw new IOException("the folder java.io.tmpdir = " + System.getProperty("java.io.tmpdir")
          + " cannot be written (" + e + "): " + OTHER_FOLDER, e);
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
