package io.sluice.doctor.ucx;

import io.sluice.doctor.host.Host;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Optional;

/**
 * A {@code libucp.so.0} that was found.
 *
 * @param path the file, symbolic links followed; inside the jar when it is the jar's
 * @param source how it was found
 */
public record UcxLibrary(String path, Source source) {
  /** In the order in which the transport looks. */
  public enum Source {
    /** The path that the user gave: {@code spark.sluice.ucx.library}. Then no other is looked for. */
    CONFIGURED,
    /** {@code LD_LIBRARY_PATH}, the loader's cache or its own folders. */
    LOADER,
    /** The one in Sluice's jar: TCP and shared memory only. */
    JAR,
    /** A folder that people install to and the loader does not know: it is not used. */
    USUAL_FOLDER
  }

  /** The largest build known (with debug information) has 10 MiB. */
  private static final long MAX_BYTES = 64L << 20;

  String folder() {
    int slash = path.lastIndexOf('/');
    return slash <= 0 ? "/" : path.substring(0, slash);
  }

  /** Where UCX looks for its modules: transports that are not part of the library itself. */
  String modules() {
    return folder() + "/ucx";
  }

  /** The library's bytes; empty when they cannot be read. */
  Optional<byte[]> content(Host host) {
    if (source == Source.JAR) {
      return host.jarFile(path);
    }
    try {
      return Files.size(host.file(path)) > MAX_BYTES ? Optional.empty()
          : Optional.of(Files.readAllBytes(host.file(path)));
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  /** For people. */
  String where() {
    return source == Source.JAR ? "in Sluice's jar" : path;
  }
}
