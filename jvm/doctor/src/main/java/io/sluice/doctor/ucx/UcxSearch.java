package io.sluice.doctor.ucx;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.LoaderCache;
import io.sluice.doctor.ucx.UcxLibrary.Source;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds the UCX that the transport would open, in the transport's order. */
public final class UcxSearch {
  static final String FILE = "libucp.so.0";

  private static final String IN_JAR = "io/sluice/native/linux-x86_64/ucx/" + FILE;
  private static final List<String> USUAL = List.of("/usr/local/lib", "/usr/local/lib64", "/usr/local/ucx/lib",
      "/opt/ucx/lib", "/opt/mellanox/ucx/lib", "/opt/hpcx/ucx/lib");

  private final String configured;

  /** @param configured a file or folder as in {@code spark.sluice.ucx.library}, or empty */
  public UcxSearch(String configured) {
    this.configured = configured;
  }

  String configured() {
    return configured;
  }

  /**
   * The library that the transport would open; if it would find none, a library in a folder that it does not search.
   * The jar's is not for where the system's is too old: UCX 1.13.1 and 1.22.0 in one process end it (an assertion in
   * libucs).
   */
  Optional<UcxLibrary> find(Host host) {
    if (!configured.isEmpty()) {
      return Stream.of(configured, configured + "/" + FILE)
          .filter(path -> host.exists(path) && !isFolder(host, path)).findFirst()
          .map(path -> new UcxLibrary(host.resolve(path), Source.CONFIGURED));
    }
    return byLoader(host).map(path -> new UcxLibrary(host.resolve(path), Source.LOADER))
        .or(() -> host.jarFile(IN_JAR).map(bytes -> new UcxLibrary(IN_JAR, Source.JAR)))
        .or(() -> elsewhere(host));
  }

  /** A library where people install it and the loader does not look. */
  Optional<UcxLibrary> elsewhere(Host host) {
    return USUAL.stream().map(folder -> folder + "/" + FILE).filter(host::exists).findFirst()
        .map(path -> new UcxLibrary(host.resolve(path), Source.USUAL_FOLDER));
  }

  private static boolean isFolder(Host host, String path) {
    return !host.list(path).isEmpty();
  }

  private static Optional<String> byLoader(Host host) {
    Stream<String> folders = Arrays.stream(host.environment("LD_LIBRARY_PATH").orElse("").split(":"));
    Optional<String> found = folders.filter(folder -> folder.startsWith("/"))
        .map(folder -> folder + "/" + FILE).filter(host::exists).findFirst();
    return found.or(() -> LoaderCache.find(host, FILE));
  }
}
